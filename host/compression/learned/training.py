"""Trains the mask generation network: steps of Adam, gradients in closed form."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask_network import FEATURES, MaskLayers
from adagrain.models.mask_network.features import elements_features, moves_of, progress_feature
from adagrain.models.mask_network.layers import with_constant

from .training_kernel import layers_of, learn, learn_and_decide

__all__ = ["Lesson", "MaskTraining"]

#: Deviation of the first weights, and decays of Adam's averages.
_DEVIATION, _DECAYS = 0.25, (0.9, 0.99)


class Lesson(NamedTuple):
    """Sums, prices and features that a step learns from.

    Members
    -------
    met, terms : tuple
        What :func:`~.slopes_kernel.find_slopes` takes: what was met, and the price in force.
    known : ndarray of int64, (regions, 9)
        Features of the same regions, as :func:`~adagrain.models.mask_network.features` gives them.
    bound : float
        The squared magnitude that is worth the price in force.
    shown : int
        How many features are seen, as :func:`~adagrain.models.mask_network.at_bound` takes it.
    """

    met: tuple[np.ndarray, ...]
    terms: tuple[float, ...]
    known: np.ndarray
    bound: float
    shown: int


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
        self._hidden, self._steps = hidden, 0
        self._adam = float(rate), *_DECAYS
        weights = np.concatenate([own.ravel() for own in layers])
        self._memory = np.zeros((4, len(weights)), dtype=np.float32)
        self._memory[0] = weights

    def layers(self) -> MaskLayers:
        """The network in INT8, which decides."""
        *hidden, last = layers_of(self._memory[0], self._hidden)
        return MaskLayers.of((*(own[:, :-1] for own in hidden), last))

    def learn(self, lesson: Lesson, times: int = 1) -> None:
        """Take a step towards smaller losses, or several.

        Each is at the next of several prices (:data:`~.training_kernel.OCTAVES`), so that tables
        are right where the price moves to.

        Parameters
        ----------
        lesson : Lesson
            What it learns from.
        times : int
            How many steps.
        """
        learn(*self._about(lesson, times))

    def learn_and_decide(
        self,
        lesson: Lesson,
        surveyed: np.ndarray,
        passes: int,
        elements: tuple[int, ...],
        bases: np.ndarray,
        times: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`learn`, and decide on tables as :meth:`layers` would, bit for bit.

        Parameters
        ----------
        lesson, times
            As those of :meth:`learn`.
        surveyed, passes, elements, bases
            As those of :func:`~adagrain.models.mask_network.features`, which may be of other
            regions than the lesson's. They are looked at with its bound.

        Returns
        -------
        ndarray of int64, (regions, 9)
            Features at a bound of 1.
        ndarray of bool, (regions, 64)
            Keep-tables.

        Raises
        ------
        ValueError
            If a base is out of its range, or a weight is not finite, or 2**60 and above.
        """
        known = np.empty((len(bases), len(FEATURES)), dtype=np.int64)
        tables = np.empty((len(bases), BINS), dtype=np.bool_)
        given = surveyed, progress_feature(passes), bases, elements_features(elements)
        about = *self._about(lesson, times), given, (known, tables)
        if not learn_and_decide(*about):
            raise ValueError(
                "weights must be finite and below 2**60, and bases an exponent, but some are not"
            )
        return known, tables

    def _about(self, lesson: Lesson, times: int) -> tuple[Any, ...]:
        """Parameters of both compiled functions, of the next steps."""
        met, terms, known, bound, shown = lesson
        first, self._steps = self._steps + 1, self._steps + times
        view = *moves_of(bound), shown
        return self._memory, self._hidden, met, terms, known, view, self._adam, (first, times)

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run."""
        return {
            "hidden": self._hidden,
            "steps": self._steps,
            "weights": torch.from_numpy(self._memory[0].copy()),
            "averages": torch.from_numpy(self._memory[1:3].copy()),
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
        self._memory[0] = state["weights"].numpy()
        self._memory[1:3] = state["averages"].numpy()
