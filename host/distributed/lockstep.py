"""Workers in lockstep: what they must have in common, compared before it can do harm."""

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from .lost import WorkerLostError, waited_for
from .meet import meet
from .mesh import Gathering
from .process_group import give_back, on_processors, time_out_of

__all__ = ["DisagreementError", "Lockstep", "WorkerFailedError", "is_known"]

#: What each worker tells in front of a backward pass, in this order; then the text of an error.
_FIELDS = ("failed", "steps", "passes", "decisions", "weights", "buckets")

#: Longest text of an error that reaches the other workers, in bytes; a multiple of 8.
_TEXT = 256

#: Note on an error of a worker's own that the others were told of.
_TOLD = "The other workers know of it."

#: Seconds for which workers wait at most until all know that one has failed.
_PATIENCE = 20.0


#: Tells how a worker stands.
State = Callable[[], Mapping[str, int]]


class DisagreementError(RuntimeError):
    """The workers have not done the same; their weights can no longer be trusted."""


class WorkerFailedError(RuntimeError):
    """Another worker cannot go on; the message has its reason."""


def is_known(error: BaseException) -> bool:
    """True if an error is one that all workers know of, or can no longer be told of."""
    alike = isinstance(error, DisagreementError | WorkerFailedError | WorkerLostError)
    return alike or _TOLD in getattr(error, "__notes__", ())


class Lockstep:
    """Compares the workers, over a process group of its own, with the time-out of theirs.

    Each of them calls :meth:`check` once in front of each exchange, with what must be equal:
    a difference, or another worker's failure, is raised on all of them, before collectives of
    different sizes meet. :meth:`post` sends the same earlier, so that nobody waits for it, and
    :meth:`look` compares earlier too.

    Parameters
    ----------
    group : ProcessGroup
        The workers. All of them must make a ``Lockstep`` at the same time.
    meets : bool
        Compare over connections between the workers, where they can be made, and not by
        collectives, which take longer.

    Members
    -------
    group : ProcessGroup
        The one of its own; its collectives run on the CPU.
    mesh : Mesh or None
        The connections, if there are any.
    """

    def __init__(self, group: dist.ProcessGroup, *, meets: bool = False) -> None:
        self._ranks = dist.get_process_group_ranks(group)
        self._patience = min(_PATIENCE, time_out_of(group).total_seconds())
        self.group = on_processors(group)
        self.mesh = meet(self.group) if meets else None
        self._sent: Gathering | _Collective | None = None
        self._looked = False

    def begin(self, options: Mapping[str, Any], error: Exception | None) -> None:
        """Compare what the workers begin with.

        Parameters
        ----------
        options : mapping
            What must be equal, by the names that messages have for it.
        error : Exception or None
            Why this worker cannot begin.

        Raises
        ------
        ValueError
            If an option differs; on all workers.
        WorkerFailedError
            If another worker cannot begin. This one's own error is raised as it is.
        """
        found: list[Any] = [None] * len(self._ranks)
        own = _reason(error) if error else {name: repr(value) for name, value in options.items()}
        with waited_for("the comparison of options"):
            dist.all_gather_object(found, own, group=self.group)
        if error:
            raise error
        for rank, theirs in zip(self._ranks, found, strict=True):
            if isinstance(theirs, str):
                raise WorkerFailedError(f"worker {rank} failed: {theirs}")
        for name in dict.fromkeys(name for theirs in found for name in theirs):
            values = [theirs.get(name, "not there") for theirs in found]
            if len(set(values)) > 1:
                raise ValueError(f"{name} must be the same on all workers, {self._told(values)}")

    def post(self, state: State) -> None:
        """Tell the others how this worker stands, unless it has told them already.

        Parameters
        ----------
        state : callable
            Gives the ``steps`` taken, backward ``passes`` since the last, checksums of all
            ``decisions``, of the ``weights``, and of how regions go together in ``buckets``;
            what is not there counts as 0.
        """
        if self._sent is None and not self._looked:
            self._send({"failed": 0, **state()}, "")

    @property
    def has_told(self) -> bool:
        """True while the others go on to an exchange, for all that they know of this worker."""
        return self._sent is not None or self._looked

    def end(self) -> None:
        """Wait a while for what was posted, which nobody compares any more."""
        self._wait()

    def close(self) -> None:
        """Give the process group back, but where the others have yet to tell how they stand."""
        if self.mesh is not None:
            self.mesh.close()
        if self._sent is None:
            give_back(self.group)

    def look(self, state: State) -> None:
        """Wait for the others, and compare; the next :meth:`check` has nothing left to do.

        Raises
        ------
        DisagreementError, WorkerFailedError
            What is wrong, on all workers alike.
        """
        self.post(state)
        if not self._looked:
            self._check()
        self._looked = True

    def check(self, state: State) -> None:
        """As :meth:`look`, in front of an exchange."""
        self.look(state)
        self._looked = False

    def tell(self, error: Exception | None) -> None:
        """Say which of the workers failed, where all of them know that one has.

        A worker that has not, and has told the others already how it stands, has no more to say.
        One that has stays until all others have heard of it: what else they wait for until then
        must not end with this worker.

        Parameters
        ----------
        error : Exception or None
            Why this one has failed, if it has.

        Raises
        ------
        WorkerFailedError
            On those that have not failed. The error itself on those that have.
        """
        if error:
            self._fail(error)
            error.add_note(_TOLD)
            raise error
        if self._sent is None:
            self._send({}, "")
        self._check()

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell the others of an error that is raised inside, where they do not expect one.

        Once this worker :attr:`has_told` that it goes on, nothing is sent: they would take it for
        a part of the exchange.
        """
        try:
            yield
        except Exception as error:
            if not self.has_told and not is_known(error):
                self._fail(error)
            raise

    def _fail(self, error: Exception) -> None:
        self._send({"failed": 1}, _reason(error))
        if self._wait():
            self._stay()

    def _stay(self) -> None:
        """Wait a while until all workers know of a failure, each of which says so here."""
        with suppress(WorkerLostError):
            self._send({}, "")
            self._wait()

    def _send(self, row: Mapping[str, int], text: str) -> None:
        """Begin to gather everybody's rows."""
        own = np.zeros(len(_FIELDS) + _TEXT // 8, dtype=np.int64)
        own[: len(_FIELDS)] = [row.get(name, 0) for name in _FIELDS]
        if text:
            raw = text.encode()[:_TEXT].ljust(_TEXT, b"\0")
            own[len(_FIELDS) :] = np.frombuffer(raw, dtype=np.int64)
        with waited_for("the comparison of the workers"):
            if self.mesh is not None:
                self._sent = self.mesh.gather(own)
            else:
                self._sent = _Collective(own, self.group)

    def _wait(self) -> bool:
        """Wait for the others' rows as long as a worker that fails does; true if they came."""
        if self._sent is None:
            return True
        under_way, self._sent = self._sent, None
        try:
            under_way.wait(datetime.timedelta(seconds=self._patience))
        except RuntimeError:
            return False
        return True

    def _check(self) -> None:
        assert self._sent
        with waited_for("the comparison of the workers"):
            table = self._sent.wait()
        self._sent = None
        columns = dict(zip(_FIELDS, table[:, : len(_FIELDS)].T.tolist(), strict=True))
        if any(columns["failed"]):
            place = columns["failed"].index(1)
            text = table[place, len(_FIELDS) :].tobytes().rstrip(b"\0")
            self._stay()
            raise WorkerFailedError(
                f"worker {self._ranks[place]} failed: {text.decode(errors='ignore')}"
            )
        if len(set(zip(columns["steps"], columns["passes"], strict=True))) > 1:
            done = [
                f"{steps} steps and {passes} backward passes since"
                for steps, passes in zip(columns["steps"], columns["passes"], strict=True)
            ]
            raise DisagreementError(
                "the workers must take the same steps (was one optimizer.step() missed?), "
                f"{self._told(done)}"
            )
        for name in ("decisions", "weights", "buckets"):
            if len(set(columns[name])) > 1:
                values = [f"checksum {value:08x}" for value in columns[name]]
                raise DisagreementError(
                    f"the workers' {name} must be equal after {columns['steps'][0]} steps, "
                    f"{self._told(values)}"
                )

    def _told(self, values: Sequence[str]) -> str:
        """Each value once, with the first worker that has it."""
        first = dict(zip(reversed(values), reversed(self._ranks), strict=True))
        return "but " + " and ".join(
            f"worker {rank} has {value}"
            for value, rank in sorted(first.items(), key=lambda x: x[1])
        )


class _Collective:
    """Rows under way, as :class:`Gathering`, by a collective."""

    def __init__(self, own: np.ndarray, group: dist.ProcessGroup) -> None:
        self._rows = torch.empty((dist.get_world_size(group), len(own)), dtype=torch.int64)
        work = dist.all_gather([*self._rows], torch.from_numpy(own), group=group, async_op=True)
        assert work is not None
        self._work = work

    def wait(self, timeout: datetime.timedelta | None = None) -> np.ndarray:
        """Rows of all workers."""
        if timeout is None:
            self._work.wait()
        else:
            self._work.wait(timeout)
        return self._rows.numpy()


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
