"""The course of a run: all of it that depends on time, at one place."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from adagrain.host.distributed.step_log import StepLog

from .flight import Departed, Flight
from .tags import Place
from .verdict import Verdict

__all__ = ["Course", "Standing", "Times"]


class Times(NamedTuple):
    """Times of a worker's step, in microseconds."""

    stall: int
    redo: int


class Standing(NamedTuple):
    """State of a worker where a run begins, or is resumed.

    Members
    -------
    step : int
        Steps that were taken.
    table : bytes
        ``RegionRecord`` records of its regions.
    parameters : dict of str to int
        Fields of ``RegionParameters``.
    weights : int
        Checksum of the anchors.
    buckets : list of list of str
        The regions that go together in a collective, by name.
    """

    step: int
    table: bytes
    parameters: dict[str, int]
    weights: int
    buckets: list[list[str]]


class Course:
    """Lets a run take its course: updates are there when they arrive, times are those measured.

    The runtime asks it for what depends on time, and tells it of what follows from that.
    """

    def compare(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """Take in what all workers have in common, by name; what else they must, of the course.

        Raises
        ------
        ValueError
            If it is not that of the run whose course this is.
        """
        return {"record": False, "replay": False}

    def begin(self, standing: Callable[[], Standing]) -> None:
        """The run begins here, or is resumed.

        Parameters
        ----------
        standing : callable
            Tells how the worker stands.
        """

    def plan(self, choose: Callable[[], list[int]]) -> list[int]:
        """Number of regions in each bucket, in the order of the collectives.

        Parameters
        ----------
        choose : callable
            Chooses, from what was measured.
        """
        return choose()

    def planned(self, buckets: list[list[str]]) -> None:
        """From the next step on, these regions go together, by name."""

    def arrived(
        self, flight: Flight, next_ones: Sequence[Departed], *, whole: bool
    ) -> Sequence[Departed] | None:
        """Buckets of a flight that are there, at this look for them; ``None``: there is nothing.

        Parameters
        ----------
        next_ones : sequence of Departed
            Those whose turn it is.
        whole : bool
            Either all of the flight's are there, or none.
        """
        if not (flight.step.agreeing and flight.step.agreeing.arrived()):
            return None
        found = [own for own in next_ones if own.pending.arrived()]
        is_all = len(found) == len(flight.departed)
        return found if is_all or (found and not whole) else None

    def bind(self, place: Place, region: int, *, guess: bool) -> None:
        """A region is bound to its guess, or to its anchor."""

    def judge(self, step: int, region: int, verdict: Verdict) -> None:
        """The guess of a step's update was compared with the true one."""

    def decide(self, log: StepLog) -> None:
        """The device has decided on a step."""

    def commit(
        self, step: int, times: Times, losses: Sequence[float], weights: Callable[[], int]
    ) -> Times:
        """A step is about to be contributed to the collectives; the times that it tells.

        Parameters
        ----------
        times : Times
            As they were measured.
        losses : sequence of float
            Of its passes.
        weights : callable
            Gives the checksum of the anchors.
        """
        return times

    def end(self, weights: Callable[[], str]) -> None:
        """The run is closed, and has not failed.

        Parameters
        ----------
        weights : callable
            Gives the SHA-256 of the anchors.
        """

    def close(self) -> None:
        """Let go of files."""
