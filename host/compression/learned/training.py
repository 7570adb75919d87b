"""Trains the mask generation network: one step of Adam a pass, gradients in closed form."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask_network import FEATURES, MaskLayers
from adagrain.models.mask_network.decision_kernel import decided
from adagrain.models.mask_network.features import moves_of
from adagrain.models.mask_network.layers import with_constant

from .training_kernel import learn

__all__ = ["MaskTraining"]

#: Deviation of the first weights, and decays of Adam's averages.
_DEVIATION, _DECAYS = 0.25, (0.9, 0.99)


class MaskTraining:
    """Weights in floating point, and Adam.

    The losses are linear in p, with slopes that do not depend on it. So the threshold of p needs
    nothing but to be looked through (straight-through: Bengio, Léonard and Courville, 2013): the
    gradient of a logit is (cost - gain) times sigmoid's derivative. Its sign alone would let logits
    grow for ever, and then they do not come back when the price changes; so the entropy of p is
    added, with (cost + gain) / :data:`~.training_kernel.SHARPNESS` as its weight. The best logit
    then is :data:`~.training_kernel.SHARPNESS` · (gain - cost) / (gain + cost), of the same sign.
    What rounding to INT8 changes is not seen here.

    Parameters
    ----------
    hidden : int
        Units of both hidden layers.
    rate : float
        Of Adam's steps.
    seed : int
        Of the first weights.
    """

    def __init__(self, hidden: int, rate: float, seed: int) -> None:
        generator = torch.Generator("cpu").manual_seed(seed)
        shapes = (len(FEATURES) + 1, hidden), (hidden + 1, hidden), (hidden + 1, BINS)
        draw = partial(torch.randn, generator=generator, dtype=torch.float32, device="cpu")
        drawn = [_DEVIATION * draw(own).numpy() for own in shapes]
        layers = [*map(with_constant, drawn[:-1]), drawn[-1]]
        self._hidden, self._rate, self._steps = hidden, rate, 0
        self._weights = np.concatenate([own.ravel() for own in layers])
        self._averages = np.zeros((2, len(self._weights)), dtype=np.float32)
        self._gradients = np.zeros_like(self._weights)
        self._layers = _cut(self._weights, [own.shape for own in layers])
        self._slopes = _cut(self._gradients, [own.shape for own in layers])

    def layers(self) -> MaskLayers:
        """The network in INT8, which decides."""
        *hidden, last = self._layers
        return MaskLayers.of((*(own[:, :-1] for own in hidden), last))

    def decided(self, *given: Any) -> tuple[np.ndarray, np.ndarray]:
        """Features, and decisions of :meth:`layers`; parameters as :func:`decided`."""
        return decided(self._layers, *given)

    def learn(
        self, met: tuple[Any, ...], known: np.ndarray, bound: float, shown: int, times: int = 1
    ) -> None:
        """Take a step towards smaller losses, or several.

        Each is at the next of several prices (:data:`~.training_kernel.OCTAVES`), so that tables
        are right where the price moves to.

        Parameters
        ----------
        met : tuple
            What :func:`~.slopes_kernel.find_slopes` takes: what was met, and the price in force.
        known, bound, shown
            Features of the same regions, as those of
            :func:`~adagrain.models.mask_network.at_bound`, at the price in force.
        times : int
            How many steps.
        """
        memory = self._weights, self._averages, self._gradients
        adam = self._rate, _DECAYS, self._steps + 1
        given = known, moves_of(bound), shown
        learn(memory, self._layers, self._slopes, met, given, adam, times)
        self._steps += times

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run."""
        return {
            "hidden": self._hidden,
            "steps": self._steps,
            "weights": torch.from_numpy(self._weights.copy()),
            "averages": torch.from_numpy(self._averages.copy()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave.

        Raises
        ------
        ValueError
            If the state's network has other hidden layers.
        """
        own, other = self._hidden, state["hidden"]
        if own != other:
            raise ValueError(f"hidden of the learned mask must be {own} as now, not {other}")
        self._steps = state["steps"]
        self._weights[:] = state["weights"].numpy()
        self._averages[:] = state["averages"].numpy()


def _cut(whole: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> tuple[np.ndarray, ...]:
    """Matrices one after the other in an array; views."""
    edges = np.cumsum([0, *(rows * columns for rows, columns in shapes)]).tolist()
    spans = zip(pairwise(edges), shapes, strict=True)
    return tuple(whole[first:end].reshape(shape) for (first, end), shape in spans)
