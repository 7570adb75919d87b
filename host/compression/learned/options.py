"""Options of the learned mask."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Self

from adagrain.host.distributed.option_names import check_names, check_number
from adagrain.models.interface.loss_weights import LossWeights

__all__ = ["SEEN", "LearnedOptions"]

#: What the network may see: the six features of the idea; these and two more; none.
SEEN = ("seed", "all", "none")


#: Ends of a weight that is not 0.
_LEAST, _MOST = 2.0**-60, 2.0**60


@dataclass(frozen=True)
class LearnedOptions:
    """Options of :class:`~.mask.LearnedMask`, given as ``learned`` of the compressed exchange.

    Parameters
    ----------
    reconstruction, sparsity, communication : float
        Weights of the losses: 0, or from 2^-60 to 2^60. Reconstruction must have one, and one of
        the others: the price that holds the density or the budget is a factor of both.
    hidden : int
        Units of both hidden layers.
    features : str
        ``"seed"``: those of the idea, ``"all"``: base and elements beside them, ``"none"``:
        all are 0, so that the regions' tables are alike.
    rate : float
        Of Adam's steps.
    step_passes : int
        Age in passes, up to 16, at which tables are replaced, and the network takes a step, behind
        the first 16 passes, each of which has one. Where passes differ in turn, an odd number has
        the network see both kinds.
    price_rate : float
        By how much the price's logarithm grows in a pass with twice as many elements as are
        wanted.
    survey_passes : int
        Passes between the first looks at activations, gradients' norms and code lengths; later
        ones are up to eight times as far apart.
    probe_passes : int
        Passes between two probes that tell what the bins' energy is worth, 0 for none: then it is
        all worth the same, which are the losses of the idea.
    probe_every : int
        A probe averages each so many-th element of the gradient over the workers, as BF16.

    Raises
    ------
    TypeError, ValueError
        If an option is of a wrong kind, or out of its range.
    """

    reconstruction: float = 1.0
    sparsity: float = 1.0
    communication: float = 1.0
    hidden: int = 31
    features: str = "all"
    rate: float = 0.01
    price_rate: float = 0.1
    step_passes: int = 2
    survey_passes: int = 8
    probe_passes: int = 0
    probe_every: int = 16

    def __post_init__(self) -> None:
        weights = f"0, or a number from {_LEAST:g} to {_MOST:g}"
        for name in LossWeights._fields:
            check_number(self, name, Real, weights, lambda x: not x or _LEAST <= x <= _MOST)
        for name in ("rate", "price_rate"):
            check_number(self, name, Real, "a number above 0, at most 10", lambda x: 0 < x <= 10)
        check_number(
            self, "step_passes", Integral, "a whole number from 1 to 16", lambda x: 1 <= x <= 16
        )
        for name, least in (
            *(("hidden", 1), ("survey_passes", 1), ("probe_passes", 0), ("probe_every", 1)),
        ):
            kind = f"a whole number, at least {least}"
            check_number(self, name, Integral, kind, lambda x, least=least: x >= least)
        if self.features not in SEEN:
            raise ValueError(f"features must be one of {', '.join(SEEN)}, not {self.features!r}")
        if not self.reconstruction or not self.sparsity + self.communication:
            raise ValueError(
                "reconstruction, and sparsity or communication, must be above 0, not "
                f"{self.reconstruction:g}, {self.sparsity:g} and {self.communication:g}"
            )

    @property
    def weights(self) -> LossWeights:
        """Weights of the losses."""
        return LossWeights(self.reconstruction, self.sparsity, self.communication)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Those that are named.

        Raises
        ------
        TypeError
            If there is none of a name; what it may be instead is said.
        """
        check_names("the learned mask", options, [option.name for option in fields(cls)])
        return cls(**options)
