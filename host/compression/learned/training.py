"""Trains the mask generation network: one step of Adam a pass, gradients in closed form."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask_network import FEATURE_SCALE, FEATURES, MaskLayers, Slopes
from adagrain.models.mask_network.layers import ONE

__all__ = ["SHARPNESS", "MaskTraining"]

#: Deviation of the first weights, and of Adam's averages the second one's decay.
_DEVIATION, _DECAYS = 0.25, (0.9, 0.99)

#: Ends of what a bin gains or costs: squares of gradients stay within FP32.
_MOST = 2.0**50

#: The largest logit that the losses ask for, where a bin gains much more than it costs.
SHARPNESS = 3.0


class MaskTraining:
    """Weights in floating point, and Adam.

    The losses are linear in p, with slopes that do not depend on it. So the threshold of p needs
    nothing but to be looked through (straight-through: Bengio, Léonard and Courville, 2013): the
    gradient of a logit is (cost - gain) times sigmoid's derivative. Its sign alone would let logits
    grow for ever, and then they do not come back when the price changes; so the entropy of p is
    added, with (cost + gain) / :data:`SHARPNESS` as its weight. The best logit then is
    :data:`SHARPNESS` · (gain - cost) / (gain + cost), of the same sign. What rounding to INT8
    changes is not seen here.

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
        generator = torch.Generator().manual_seed(seed)
        shapes = (len(FEATURES) + 1, hidden), (hidden + 1, hidden), (hidden + 1, BINS)
        self._weights = [_DEVIATION * torch.randn(own, generator=generator) for own in shapes]
        self._adam = torch.optim.Adam(self._weights, lr=rate, betas=_DECAYS)

    def layers(self) -> MaskLayers:
        """The network in INT8, which decides."""
        return MaskLayers.of(tuple(own.numpy() for own in self._weights))

    def step(self, seen: np.ndarray, slopes: Slopes) -> None:
        """One step towards smaller losses.

        Parameters
        ----------
        seen : ndarray of int8, (rows, 9)
            Features.
        slopes : Slopes
            What the bins of each row gain and cost, (rows, 64).
        """
        for own, gradient in zip(self._weights, self.gradients(seen, slopes), strict=True):
            own.grad = gradient
        self._adam.step()

    def gradients(self, seen: np.ndarray, slopes: Slopes) -> list[torch.Tensor]:
        """Those of the weights; parameters as :meth:`step`."""
        inputs = [_beside(torch.from_numpy(seen * np.float32(FEATURE_SCALE)), 1.0)]
        for own in self._weights[:-1]:
            inputs.append(_beside((inputs[-1] @ own).clamp_(-ONE, ONE), ONE))
        gain, cost = (torch.from_numpy(part.clip(0.0, _MOST).astype(np.float32)) for part in slopes)
        logits = inputs[-1] @ self._weights[-1]
        p = torch.sigmoid(logits)
        out = (cost - gain + (cost + gain) * logits / SHARPNESS) * p * (1 - p)
        found = [inputs[-1].t() @ out]
        for number in (1, 0):
            inside = inputs[number + 1][:, :-1].abs() < ONE
            out = torch.where(inside, (out @ self._weights[number + 1].t())[:, :-1], 0.0)
            found.append(inputs[number].t() @ out)
        return found[::-1]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs."""
        weights = [own.clone() for own in self._weights]
        return {"weights": weights, "adam": self._adam.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave.

        Raises
        ------
        ValueError
            If the state's network has other hidden layers.
        """
        own, other = (len(weights[-1]) - 1 for weights in (self._weights, state["weights"]))
        if own != other:
            raise ValueError(f"hidden of the learned mask must be {own} as now, not {other}")
        for weights, value in zip(self._weights, state["weights"], strict=True):
            weights.copy_(value)
        self._adam.load_state_dict(state["adam"])


def _beside(x: torch.Tensor, constant: float) -> torch.Tensor:
    return torch.nn.functional.pad(x, (0, 1), value=constant)
