"""Tags: which guesses the results of a step in the making stand on."""

from typing import NamedTuple

from adagrain.host.distributed.agreement import Trials

__all__ = ["Place", "Tags", "Void"]


class Place(NamedTuple):
    """A place in a step: the number of the pass, and of the call in it; −1 is its beginning."""

    number: int
    call: int


class Void(BaseException):
    """Results of a step are void from some place on."""


class Tags:
    """Regions whose guess has entered a step, and what became of it.

    Each result carries the mask of all guesses that entered in front of it: it is not known what
    a closure makes of it, so the mask is at least the union of those that its inputs carry.

    Members
    -------
    mask : int
        Bit r is set while region r's guess has entered, and is not resolved.
    guesses, worthy : dict of int to Trials
        What became of resolved ones in this step: those that were accepted, or worth it.
    closed : bool
        Nothing is judged any more in this step: what enters, or has not been resolved, stays.
    """

    def __init__(self) -> None:
        self.mask = 0
        self.guesses: dict[int, Trials] = {}
        self.worthy: dict[int, Trials] = {}
        self.closed = False
        self._places: dict[int, Place] = {}
        self._rejected: set[int] = set()

    def begin(self) -> None:
        """Begin a step."""
        self.mask, self.guesses, self.worthy, self.closed = 0, {}, {}, False
        self._places.clear()
        self._rejected.clear()

    def put(self, region: int, place: Place) -> None:
        """A region's guess has entered at a place, for the first time or again."""
        if self.closed:
            return
        self._places.setdefault(region, place)
        self.mask |= 1 << region

    def has(self, region: int) -> bool:
        """True while a region's guess is not resolved."""
        return bool(self.mask >> region & 1)

    def resolve(self, region: int, *, accepted: bool, worthy: bool, last: bool = True) -> None:
        """A region's guess was compared with its true update, the last one or an earlier one."""
        if last:
            self.mask &= ~(1 << region)
        for guesses, own in ((self.guesses, accepted), (self.worthy, worthy)):
            accepts, trials = guesses.get(region, (0, 0))
            guesses[region] = Trials(accepts + int(own), trials + 1)
        if not accepted:
            self._rejected.add(region)

    @property
    def first_rejected(self) -> Place | None:
        """The place from which on results are void; ``None`` where they are not."""
        return min((self._places[region] for region in self._rejected), default=None)

    def check(self) -> None:
        """Break off where a guess that has entered was rejected.

        Raises
        ------
        Void
            If so.
        """
        if self._rejected:
            raise Void

    def discard(self) -> None:
        """Say that what was void has been thrown away; a step is done again once."""
        self._rejected.clear()
        self.close()

    def close(self) -> None:
        """Say that no guess will be judged any more in this step."""
        self.mask, self.closed = 0, True
