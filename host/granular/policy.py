"""Policy by which a network's precisions are chosen."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from numbers import Integral, Real

from adagrain.models.interface.precision import Precision, precision_of
from adagrain.models.precision_controller import (
    THRESHOLDS,
    precision_of_rank,
    precision_record,
    rank_of,
)

from .kinds import check_is_number

__all__ = ["Policy"]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Policy by which the channel groups of a network choose, and learn to choose.

    Precisions may be given by name.

    Parameters
    ----------
    thresholds : tuple of float
        Normalised variances of a channel group's input (σ² over peak², 0 to 1) above which INT4,
        INT8 and FP16 do not do. Where they begin, if they are learnt.
    hysteresis : float
        How far a threshold must be passed, 0 to 1.
    dwell : int
        Looks for which a change lasts, 0 to 255.
    every : int
        Steps between looks at a layer's input; in between, its precisions stay.
    start : Precision
        Precision before the first look, or the one of those allowed that is nearest to it.
    floor, ceiling : Precision
        Lowest and highest precision; a resource manager may lower the ceiling.
    fixed : Precision or None
        Every channel group computes in this one, always; nothing is looked at.
    channel_groups : int
        Channel groups of a layer: its outputs are divided evenly among them, and each has a
        precision of its own.
    gradients : Precision
        Lowest precision of the two products of the backward pass; where the channel group computes
        in a higher one, they have that.
    penalty : float
        λ of the granularity penalty.
    learn : bool
        The thresholds are parameters, which get gradients of the task's loss and of the penalty.
    softness : float
        Width of the transition between two precisions, as the thresholds learn it, in octaves.
    skip : tuple of str
        Names of layers that stay as they are.

    Raises
    ------
    TypeError, ValueError
        If a value is of another kind, or out of its range; the message names it, and what it must
        be.
    """

    thresholds: tuple[float, float, float] = (0.01, 0.35, 0.7)
    hysteresis: float = 0.005
    dwell: int = 4
    every: int = 8
    start: Precision | str = Precision.INT8
    floor: Precision | str = Precision.INT4
    ceiling: Precision | str = Precision.FP32
    fixed: Precision | str | None = None
    channel_groups: int = 1
    gradients: Precision | str = Precision.INT8
    penalty: float = 0.0
    learn: bool = True
    softness: float = 1.0
    skip: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("start", "floor", "ceiling", "gradients", "fixed"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, precision_of(value, name))
        self._check_kinds()
        for name in ("every", "channel_groups"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.dwell <= 255:
            raise ValueError(f"dwell must be from 0 to 255, not {self.dwell}")
        if not 0 <= self.penalty < math.inf:
            raise ValueError(f"penalty must be finite and not negative, not {self.penalty:g}")
        if not 0 < self.softness < math.inf:
            raise ValueError(f"softness must be finite and positive, not {self.softness:g}")
        if len(self.thresholds) != len(THRESHOLDS):
            raise ValueError(f"thresholds must be {len(THRESHOLDS)}, not {len(self.thresholds)}")
        if min(self.thresholds) <= 0:
            raise ValueError(f"thresholds must be above 0, not {min(self.thresholds):g}")
        self._check_fixed()
        self.record()

    def _check_fixed(self) -> None:
        if self.fixed is None:
            return
        fixed, floor, ceiling = map(_given, (self.fixed, self.floor, self.ceiling))
        if not rank_of(floor) <= rank_of(fixed) <= rank_of(ceiling):
            raise ValueError(
                f"fixed must be from the floor {floor.name} to the ceiling {ceiling.name}, "
                f"not {fixed.name}"
            )

    def _check_kinds(self) -> None:
        kinds = {"every": Integral, "channel_groups": Integral, "dwell": Integral}
        for name in ("hysteresis", "dwell", "every", "channel_groups", "penalty", "softness"):
            check_is_number(name, getattr(self, name), kinds.get(name, Real))
        if not _are(str, self.skip):
            raise TypeError(f"skip must be names of layers, as a tuple, not {self.skip!r}")
        if not _are(Real, self.thresholds):
            raise TypeError(f"thresholds must be numbers, as a tuple, not {self.thresholds!r}")

    @property
    def learns(self) -> bool:
        """True if thresholds are learned."""
        return self.learn and self.fixed is None

    @property
    def bounds(self) -> tuple[Precision, Precision]:
        """Lowest and highest that a channel group may compute in."""
        if self.fixed is not None:
            return _given(self.fixed), _given(self.fixed)
        return _given(self.floor), _given(self.ceiling)

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """All that a channel group may compute in, the lowest first."""
        low, high = map(rank_of, self.bounds)
        return tuple(map(precision_of_rank, range(low, high + 1)))

    @property
    def first(self) -> Precision:
        """First precision of a channel group."""
        return self.allowed(_given(self.start))

    def allowed(self, precision: Precision) -> Precision:
        """A precision, or the one within the bounds that is nearest to it."""
        low, high = map(rank_of, self.bounds)
        return precision_of_rank(min(max(rank_of(precision), low), high))

    def record(self) -> bytes:
        """A channel group's record to begin with."""
        return precision_record(
            self.thresholds,
            hysteresis=self.hysteresis,
            dwell=self.dwell,
            start=self.first,
            floor=self.bounds[0],
            ceiling=self.bounds[1],
        )

    def of_gradients(self, forward: Precision) -> Precision:
        """Precision of the backward pass of a channel group that computes in some precision."""
        return max(forward, _given(self.gradients), key=rank_of)


def _are(kind: type, values: object) -> bool:
    """True if values are a collection of a kind; not of a text, whose parts are texts too."""
    if isinstance(values, str) or not isinstance(values, Collection):
        return False
    return all(isinstance(value, kind) for value in values)


def _given(precision: Precision | str) -> Precision:
    return precision_of(precision)
