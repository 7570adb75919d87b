"""The network in INT8: three fully connected layers, from features to keep-tables.

Each layer is a product as the granularity unit computes it, ``matmul(…, "INT8", to="INT8")``: exact
sums of products of INT8, each times a power of two, rounded once to nearest even and clamped to
±127. The clamp is the non-linearity: with hidden numbers h - 1 in place of h, it is
h = min(ReLU(s + 1), 2), a ReLU that is bounded above; the 1 is part of the biases. So all layers
are one :meth:`~adagrain.host.device.tile_calls.TileCalls.chain`, and no step between them is
the host's. Biases are weights of an input that is 1, and of a hidden unit that is always at its
clamp.

The output is a logit for each of 64 bins: sigmoid(logit) > 0.5 is logit > 0, so no sigmoid is
computed.
"""

from dataclasses import dataclass

import numpy as np
import torch

from adagrain.models.interface.precision import LEVELS, Precision
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.numerics.quantisation import Operand, multiplied, operand
from adagrain.models.numerics.rounding import multiples

from .features import FEATURE_SCALE, FEATURES

__all__ = [
    "LAYER_SCALE",
    "ONE",
    "MaskLayers",
    "keep_tables",
    "logits",
    "with_constant",
    "with_one",
]

#: What hidden numbers and logits are multiples of.
LAYER_SCALE = 2.0**-7

_INT8 = Precision.INT8

#: The largest hidden number: where they are clamped, and the value of the one that is constant.
ONE = LEVELS[_INT8] * LAYER_SCALE

#: Weight with which the constant reaches its clamp for sure.
_SATURATING = 2.0


@dataclass(frozen=True)
class MaskLayers:
    """Weights in INT8.

    Parameters
    ----------
    operands : tuple of Operand
        Of each layer, (outputs, inputs), with a scale for each output; the last input is the
        constant, and so is the last output of hidden layers.
    """

    operands: tuple[Operand, ...]

    @classmethod
    def of(cls, weights: tuple[np.ndarray, ...]) -> "MaskLayers":
        """Those nearest to weights in floating point.

        Parameters
        ----------
        weights : tuple of ndarray of float32
            (10, h), (h + 1, h) and (h + 1, 64): inputs by outputs, the biases last.

        Raises
        ------
        ValueError
            If the shapes do not fit, or a weight is not finite.
        """
        _check(weights)
        hidden = [with_constant(own) for own in weights[:-1]]
        rows = [torch.from_numpy(np.ascontiguousarray(own.T)) for own in (*hidden, weights[-1])]
        return cls(tuple(operand(own, _INT8, along=(1,), name="weights") for own in rows))

    def matrices(self) -> list[tuple[torch.Tensor, list[float]]]:
        """Of each layer what a device takes: int8, (inputs, outputs), and the columns' scales."""
        found = []
        for own in self.operands:
            assert own.scale is not None
            found.append((own.matrix().t().contiguous(), own.scale.flatten().tolist()))
        return found


def logits(layers: MaskLayers, seen: np.ndarray) -> np.ndarray:
    """The integer logits of some regions' bins.

    Parameters
    ----------
    layers : MaskLayers
        The network.
    seen : ndarray of int8, (regions, 9)
        Their features.

    Returns
    -------
    ndarray of int8, (regions, 64)
    """
    first, scale = torch.tensor([FEATURE_SCALE, LAYER_SCALE], dtype=torch.float32, device="cpu")
    numbers = Operand(torch.from_numpy(with_one(seen).astype(np.float32)), first, _INT8)
    for own in layers.operands:
        values = multiplied(numbers, own)
        numbers = Operand(multiples(values, scale.view(1, 1), None, LEVELS[_INT8]), scale, _INT8)
    return numbers.numbers.numpy().astype(np.int8)


def keep_tables(layers: MaskLayers, seen: np.ndarray) -> np.ndarray:
    """The keep-tables of some regions, bool, (regions, 64); parameters as :func:`logits`."""
    return logits(layers, seen) > 0


def with_one(seen: np.ndarray) -> np.ndarray:
    """Features, int8, and behind them the number of the same scale that stands for 1."""
    ones = np.full((len(seen), 1), round(1 / FEATURE_SCALE), dtype=np.int8)
    return np.concatenate([seen, ones], axis=1)


def with_constant(weights: np.ndarray) -> np.ndarray:
    """One more output, which is always at its clamp."""
    found = np.pad(weights, ((0, 0), (0, 1)))
    found[-1, -1] = _SATURATING
    return found


def _check(weights: tuple[np.ndarray, ...]) -> None:
    hidden = weights[0].shape[1]
    wanted = [(len(FEATURES) + 1, hidden), (hidden + 1, hidden), (hidden + 1, BINS)]
    shapes = [own.shape for own in weights]
    if shapes != wanted:
        raise ValueError(f"weights must be of shapes {wanted}, not {shapes}")
