"""Tells the other workers of errors between backward passes, whatever they wait for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import torch

from .lockstep import DisagreementError, Lockstep, WorkerFailedError, is_known
from .lost import WorkerLostError
from .reducer import RegionReducer

__all__ = ["Guard"]

#: Passes until DDP's buckets stay what they are: it rebuilds them in front of the second.
_UNSTEADY = 2


class Guard:
    """Has a worker that fails take part in the pass that the others go on to.

    Where they think that this worker goes on, too, they hear of an error at the end of that pass.
    That takes DDP's buckets, and a pass of the same step: else the others find the worker lost.

    Parameters
    ----------
    lockstep : Lockstep
        Compares the workers.
    reducer : RegionReducer
        Exchanges their gradients.
    """

    def __init__(self, lockstep: Lockstep, reducer: RegionReducer) -> None:
        self._lockstep = lockstep
        self._reducer = reducer
        self._passes = 0
        self._buckets: list[Sequence[torch.Tensor]] = []

    def begin_pass(self) -> None:
        """Say that a backward pass begins."""
        self._passes += 1
        self._buckets = []

    def note(self, parameters: Sequence[torch.Tensor]) -> None:
        """Note the parameters of the pass's next bucket."""
        self._buckets.append(parameters)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell the others of an error that is raised inside, where they do not expect one."""
        try:
            with self._lockstep.told():
                yield
        except Exception as error:
            if self._is_awaited and not is_known(error):
                with suppress(DisagreementError, WorkerFailedError, WorkerLostError):
                    self._give_up(error)  # this worker's own error says more
            raise

    @property
    def _is_awaited(self) -> bool:
        """True where the others go on to a pass in which this worker can take part."""
        is_steady = self._passes >= _UNSTEADY and not self._reducer.passes
        return is_steady and self._lockstep.has_told

    def _give_up(self, error: Exception) -> None:
        """Take part in the next pass, as one that has failed in it."""
        self._reducer.begin_pass()
        self._reducer.fail(error)
        for parameters in self._buckets:
            for parameter in parameters:
                self._reducer.add(parameter, torch.zeros_like(parameter))
            self._reducer.begin_exchange(parameters)
        self._reducer.end_pass()
