"""Checkpoints of a script: after a failure all workers go on from the same one."""

import logging
import re
from collections.abc import Mapping
from functools import partial
from numbers import Integral
from pathlib import Path
from pickle import PicklingError
from typing import IO, Any

import torch
import torch.distributed as dist
from torch.serialization import get_unsafe_globals_in_checkpoint

from adagrain.host.files import replace_file, writing

from .lockstep import WorkerFailedError
from .lost import waited_for

__all__ = ["CheckpointError", "Checkpoints"]

_log = logging.getLogger("adagrain")

#: Files that each worker keeps. When it writes that of a step, the update of this step has come
#: from all: so each of them has written the one before.
_KEPT = 2

#: What is said of a state that could not be loaded.
_KINDS = "state must hold tensors, numbers, texts, and collections of them"


class CheckpointError(ValueError):
    """A checkpoint that this run cannot go on from."""


class Checkpoints:
    """Files of all workers, one for each of them and step.

    Workers write without waiting for each other, so one that fails may leave the others a step
    ahead. :meth:`load` chooses the newest step that all of them have whole. The state of fewer
    workers is of no use to more of them, which is refused; that of more is there for fewer.

    Parameters
    ----------
    folder : str or Path
        Where they are: a folder that workers share, or one on each machine.
    group : ProcessGroup or None
        The workers.
    """

    def __init__(self, folder: str | Path, group: dist.ProcessGroup | None = None) -> None:
        self._folder = Path(folder)
        self._group = group
        self._rank = dist.get_rank(group)

    def save(self, step: int, state: Mapping[str, Any]) -> None:
        """Write this worker's file of a step, whole or not at all; all others but one are removed.

        The one before is kept. Those of later steps are of an earlier run in the same folder.

        Parameters
        ----------
        step : int
            Steps taken so far; all workers call it at the same steps.
        state : mapping
            What :meth:`load` gives back: tensors, numbers, texts, and collections of them. The
            step's update must be in it, as in what ``state_dict`` gives.

        Raises
        ------
        TypeError
            If the step is no integer, or the state holds something of a kind that could not be
            loaded.
        ValueError
            If the step is below 0.
        WriteError
            If it cannot be written; those before are still there.
        """
        if isinstance(step, bool) or not isinstance(step, Integral):
            raise TypeError(f"step must be an integer, not {step!r}")
        if step < 0:
            raise ValueError(f"step must be 0 or more, not {step}")
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be a mapping, not {state!r}")
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        content = {"workers": dist.get_world_size(self._group), "state": dict(state)}
        replace_file(self._path(step), partial(_write, content), _check_loadable)
        steps = self._steps()
        kept = [own for own in steps if own <= step][-_KEPT:]
        for other in set(steps).difference(kept):
            with writing(self._path(other)):
                self._path(other).unlink(missing_ok=True)

    def load(self) -> tuple[int, dict[str, Any]] | None:
        """The step to go on from, the same on all workers, and this worker's state of it.

        Where a file cannot be read, all workers go back to the step before, and say so. Files of
        later steps are removed. All workers call it.

        Returns
        -------
        tuple or None
            ``None`` where the run is to begin anew: no worker has more than its first checkpoint,
            and they have none in common. Such a file is kept under a name with ``.left`` at its
            end.

        Raises
        ------
        CheckpointError
            If they have had one in common, and have it no more, or all are damaged; or if they are
            more workers than have written the checkpoints.
        WorkerFailedError
            If all are, and the last one is another worker's.
        """
        own = self._steps()
        common = self._common(self._gathered(own))
        if not common:
            self._set_aside(own)
            return None
        step, state = self._newest_whole(common)
        for later in own:
            if later > step:
                self._path(later).unlink()
        return step, state

    def _common(self, found: list[list[int]]) -> list[int]:
        """Steps that all workers have, newest first; none where the run begins anew."""
        common = set(found[0]).intersection(*found[1:])
        if common:
            return sorted(common, reverse=True)
        told = ", ".join(f"worker {rank} has {own}" for rank, own in enumerate(found))
        if max(map(len, found)) > 1:
            raise CheckpointError(
                f"workers must have the checkpoint of one step in {self._folder}, but {told}"
            )
        self._check_workers(found[self._rank])
        if any(found) and self._rank == 0:
            _log.warning("the run begins anew: no checkpoint was written by all workers (%s)", told)
        return []

    def _check_workers(self, steps: list[int]) -> None:
        """See to it that a file that not all workers have is not of fewer of them."""
        now = dist.get_world_size(self._group)
        contents = [self._read(step)[0] for step in steps]
        before = self._gathered(min((own.get("workers", now) for own in contents), default=now))
        if min(before) < now:
            raise CheckpointError(
                f"checkpoints in {self._folder} must be of {now} workers, not of {min(before)}: "
                "start as many, or take another folder"
            )

    def _set_aside(self, steps: list[int]) -> None:
        for step in steps:
            path = self._path(step)
            path.replace(path.with_name(f"{path.name}.left"))

    def _newest_whole(self, steps: list[int]) -> tuple[int, dict[str, Any]]:
        """The first of some steps whose files can all be read, and this worker's state of it."""
        step, *before = steps
        content, error = self._read(step)
        told = self._gathered(error and f"{type(error).__name__}: {error}")
        failed = [f"worker {rank} failed: {text}" for rank, text in enumerate(told) if text]
        if not failed:
            return step, content["state"]
        if not before:
            raise error or WorkerFailedError(failed[0])
        if self._rank == 0:
            _log.warning("going back to the checkpoint of step %d: %s", before[0], failed[0])
        return self._newest_whole(before)

    def _read(self, step: int) -> tuple[dict[str, Any], CheckpointError | None]:
        """Content of this worker's file of a step, or why it cannot be read."""
        try:
            content = torch.load(self._path(step), weights_only=True)
            is_earlier = content.keys() != {"workers", "state"}  # the state alone
            return {"state": content} if is_earlier else content, None
        except Exception as failure:
            reason = str(failure).partition("\n")[0] or type(failure).__name__
            return {}, CheckpointError(f"{self._path(step)} cannot be read: {reason}")

    def _gathered(self, own: Any) -> list[Any]:
        """Values of all workers, by rank."""
        found = [None] * dist.get_world_size(self._group)
        with waited_for("the choice of a checkpoint"):
            dist.all_gather_object(found, own, group=self._group)
        return found

    def _steps(self) -> list[int]:
        """Of this worker's files, in order."""
        ends = re.compile(rf"step-(\d+)\.rank{self._rank}\.pt")
        names = (ends.fullmatch(path.name) for path in self._folder.glob("step-*"))
        return sorted(int(name[1]) for name in names if name)

    def _path(self, step: int) -> Path:
        return self._folder / f"step-{step:08d}.rank{self._rank}.pt"


def _write(content: Mapping[str, Any], file: IO[bytes]) -> None:
    try:
        torch.save(content, file)
    except (AttributeError, PicklingError, TypeError) as error:
        raise TypeError(f"{_KINDS}: {error}") from error


def _check_loadable(path: Path) -> None:
    if strange := get_unsafe_globals_in_checkpoint(path):
        raise TypeError(f"{_KINDS}, not {', '.join(sorted(strange))}: it could not be loaded")
