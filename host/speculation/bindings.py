"""Leaf of each region that a pass works with: anchor, or guess with a tag."""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from adagrain.host.regions.regions import Regions

from .arrivals import Arrivals
from .chain import Chain
from .course import Course
from .leaves import Leaves
from .one_pass import OnePass
from .tags import Place, Tags

__all__ = ["Bindings"]


class Bindings:
    """Binds regions for the rest of a pass, where a module of theirs is called first.

    Before that, a region whose update is in flight shows its stand-ins. Regions with parameters
    that are known to be used outside of modules' calls are bound at the beginning.

    Parameters
    ----------
    regions : Regions
        The regions.
    leaves : Leaves
        Their leaves.
    arrivals : Arrivals
        Updates in flight.
    tags : Tags
        Guesses that have entered.
    course : Course
        Is told what is bound.
    """

    def __init__(
        self, regions: Regions, leaves: Leaves, arrivals: Arrivals, tags: Tags, course: Course
    ) -> None:
        self._members = [[part.parameter for part in region.slices] for region in regions]
        self._names = {part.parameter: part.name for region in regions for part in region.slices}
        self._leaves = leaves
        self._arrivals = arrivals
        self._tags = tags
        self._course = course
        self._outside: set[int] = set()
        self._regions_of: dict[nn.Module, list[int]] = {}
        for number, members in enumerate(self._members):
            for module in {module for own in members for module in leaves.modules(own)}:
                self._regions_of.setdefault(module, []).append(number)

    def begin(self, current: OnePass) -> None:
        """Bind what a pass begins with.

        Raises
        ------
        Void
            If a guess that has entered was rejected meanwhile.
        """
        self._leaves.forget_gradients()
        for region, members in enumerate(self._members):
            if region in current.bound:
                self._show(region, current.guesses.get(region))
            elif region in self._outside:
                self._bind(current, region, -1)
            elif self._arrivals.is_resolved(region):
                self._show(region, None)
            else:
                for parameter in members:
                    self._leaves.bind_stand_in(parameter)

    def enter(self, current: OnePass, module: nn.Module, call: int) -> None:
        """Bind the regions of a module that is called, unless they are bound.

        One that is called with weights of somebody else's keeps these.

        Raises
        ------
        Void
            If a guess that has entered was rejected meanwhile.
        """
        regions = self._regions_of.get(module, ())
        if regions and self._leaves.is_swapped(module):
            return
        for region in regions:
            if region not in current.bound:
                self._bind(current, region, call)
            elif region in current.kept and self._casts(region):
                current.calls.casts = True  # in a single run gradients would meet there

    def _casts(self, region: int) -> bool:
        """True if autocast is on where a region is."""
        return torch.is_autocast_enabled(self._members[region][0].device.type)

    def find_strays(self, reaches: Callable[[nn.Parameter], bool]) -> Sequence[str]:
        """Parameters, by name, whose gradient goes to the stand-in; it will not do so again.

        Parameters
        ----------
        reaches : callable
            Tells of a leaf whether a gradient goes to it.

        Raises
        ------
        RuntimeError
            If it has done so again, or goes to an anchor which modules do not see.
        """
        everything = [(region, own) for region, all_ in enumerate(self._members) for own in all_]
        stray = [(region, p) for region, p in everything if reaches(self._leaves.stand_in(p))]
        before = [p for region, p in stray if region in self._outside]
        before += [p for _, p in everything if self._leaves.bound(p) is not p and reaches(p)]
        if before:
            raise RuntimeError(
                f"parameter {self._names[before[0]]!r} must be used as the model has it when a "
                "closure begins, but is used as it was before: take it from the model there"
            )
        self._outside.update(region for region, _ in stray)
        return [self._names[parameter] for _, parameter in stray]

    def release(self) -> None:
        """Have modules see the anchors."""
        for region in range(len(self._members)):
            self._show(region, None)

    def _bind(self, current: OnePass, region: int, call: int) -> None:
        arrivals = self._arrivals
        arrivals.poll()
        if not arrivals.may_guess(region):
            arrivals.wait_for(region)
        self._tags.check()
        place = Place(current.number, call)
        if not arrivals.is_resolved(region):
            current.guesses[region] = arrivals.guess(region)
            self._tags.put(region, place)
        self._course.bind(place, region, guess=region in current.guesses)
        self._show(region, current.guesses.get(region))
        current.bound[region] = call

    def _show(self, region: int, guess: Chain | None) -> None:
        for parameter in self._members[region]:
            if guess is None:
                self._leaves.bind_anchor(parameter)
            else:
                self._leaves.bind_guess(parameter, guess.leaves[parameter])
