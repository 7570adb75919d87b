"""The size of each exchange's slot, on which all workers agree."""

from collections.abc import Mapping, Sequence
from typing import Any

from adagrain.models.codec.parser_kernel import WIDEST
from adagrain.models.codec.parts import CHECKSUM, HEADER_SIZE, REGION_SIZE
from adagrain.models.interface.codec import BLOCK, GradientHeader

from .layout import Layout
from .target import SLACK, Target

__all__ = ["Plan", "check_sizes", "least_size", "most_size"]

#: Bytes that the first slot of an exchange has at least, if they can be of use.
_FIRST_LEAST = 4096

#: Bytes of a frame beside its regions, and of a region with one element beside the lengths of its
#: blocks; neither takes more.
_FRAME, _REGION = HEADER_SIZE + CHECKSUM.size + 1, REGION_SIZE + 8

#: As the frame's header can count them.
_MOST_REGIONS = (1 << GradientHeader["regions"].width) - 1


class Plan:
    """Sizes of slots; renewed from the longest frames that any worker has wanted to send.

    That is done after 1, 2, 4, 8 … passes, from ``plan_passes`` on after each so many, and after
    a pass in which a frame did not fit. With a budget no slot is larger than that. All workers
    compute the same, from integers that they have in common.

    Parameters
    ----------
    plan_passes : int
        Passes between two renewals.
    target : Target
        Knows what to expect of an exchange that is new.
    """

    def __init__(self, plan_passes: int, target: Target) -> None:
        self._plan_passes = plan_passes
        self._target = target
        self._sizes: dict[Layout, int] = {}
        self._longest: dict[Layout, int] = {}

    def size(self, number: int, layout: Layout) -> int:
        """Bytes of an exchange's slot in a pass, which is counted from 0."""
        if layout not in self._sizes:
            expected = max(self._target.first_size(number, layout.elements), _FIRST_LEAST)
            self._sizes[layout] = self._within(expected, layout)
        return self._sizes[layout]

    def wanted(self, layout: Layout, longest: int) -> None:
        """Say how long the longest frame of an exchange would have been, of all workers."""
        self._longest[layout] = max(self._longest.get(layout, 0), longest)
        if longest > self._sizes[layout]:
            self._sizes[layout] = self._with_slack(longest, layout)

    def end_pass(self, number: int) -> None:
        """End a pass."""
        done, every = number + 1, self._plan_passes
        if done % every == 0 or (done < every and not done & (done - 1)):
            for layout, longest in self._longest.items():
                self._sizes[layout] = self._with_slack(longest, layout)
            self._longest = {}

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run."""
        rows = [
            (layout.keys, layout.sizes, size, self._longest.get(layout, 0))
            for layout, size in self._sizes.items()
        ]
        return {"slots": rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._sizes, self._longest = {}, {}
        for keys, sizes, size, longest in state["slots"]:
            layout = Layout(keys, sizes)
            self._sizes[layout] = self._within(size, layout)
            if longest:
                self._longest[layout] = longest

    def _with_slack(self, longest: int, layout: Layout) -> int:
        return self._within(round(SLACK * longest), layout)

    def _within(self, size: int, layout: Layout) -> int:
        budget = self._target.budget
        return _bounded(size if budget is None else min(size, budget), layout)


def least_size(layout: Layout) -> int:
    """Bytes of a frame with one element of each share, at most."""
    return _least(layout.sizes)


def check_sizes(sizes: Sequence[int], budget: int | None) -> None:
    """See to it that a frame can be of a whole model, and as small as a budget wants.

    Parameters
    ----------
    sizes : sequence of int
        Elements of each share of the model.
    budget : int or None
        Bytes of a slot, at most; ``None``: any.

    Raises
    ------
    ValueError
        If it cannot.
    """
    if len(sizes) > _MOST_REGIONS:
        raise ValueError(
            f"parameters, or slices of them, must be at most {_MOST_REGIONS}, which a frame can "
            f"have as regions, not {len(sizes)}"
        )
    least = _least(sizes)
    if budget is not None and budget < least:
        raise ValueError(
            f"budget must be at least {least} bytes, which a frame with one element of each of "
            f"{len(sizes)} parameters, or slices of them, may take, not {budget}"
        )


def most_size(layout: Layout) -> int:
    """Bytes that no frame exceeds."""
    return least_size(layout) + 2 * layout.elements


def _least(sizes: Sequence[int]) -> int:
    blocks = sum(-(-size // BLOCK) for size in sizes)
    return _FRAME + _REGION * len(sizes) + (WIDEST * blocks + 7) // 8


def _bounded(size: int, layout: Layout) -> int:
    return min(max(size, least_size(layout)), most_size(layout))
