"""Tells the other workers of errors, wherever in a step they are raised."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from adagrain.host.distributed.lockstep import Lockstep, is_known
from adagrain.host.distributed.lost import WorkerLostError

from .departure import Departure
from .planner import Planner

__all__ = ["Guard"]


class Guard:
    """Has a worker that fails take part in the collectives that the others wait for.

    Parameters
    ----------
    lockstep : Lockstep
        Compares the workers.
    planner : Planner
        What of its collectives is under way.
    departure : callable
        Gives the contributions of the next step, none of which has been made.
    give_up : callable
        Forgets the updates in flight.
    """

    def __init__(
        self,
        lockstep: Lockstep,
        planner: Planner,
        departure: Callable[[], Departure],
        give_up: Callable[[], None],
    ) -> None:
        self._lockstep = lockstep
        self._planner = planner
        self._departure = departure
        self._give_up = give_up
        self._is_inside = False

    def close(self) -> None:
        """Let go of what it calls, which has this guard."""
        del self._departure, self._give_up

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell the others of an error that is raised inside, where they do not expect one.

        They have been told already that this worker can go on. So it takes part in the next step,
        as one that has failed in it.
        """
        if self._is_inside:
            yield
        elif self._lockstep.has_told:
            with self.given_up(None):
                yield
        else:
            with self._lockstep.told():
                yield

    @contextmanager
    def given_up(self, departure: Departure | None) -> Iterator[None]:
        """Take part in the step's collectives, and tell of an error, if one is raised inside.

        Parameters
        ----------
        departure : Departure or None
            What the step has contributed so far; ``None``: nothing, it has not begun.
        """
        self._is_inside = True
        try:
            yield
        except BaseException as error:
            self._give_up()
            if isinstance(error, Exception) and not is_known(error):
                with suppress(WorkerLostError):  # this worker's own error says more
                    departure = departure or self._departure()
                    departure.fail(error)
                    departure.agree()
                    self._planner.tell()
                    self._lockstep.tell(error)
            raise
        finally:
            self._is_inside = False
