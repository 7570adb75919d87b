"""Gradients of the mask generation network, and Adam, compiled.

The constant unit of each hidden layer is one of its columns, which is at its clamp: so nothing
flows back to the column's weights, and it stays.
"""

import math

import numpy as np
from numba import njit

from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask_network import FEATURE_SCALE, FEATURES
from adagrain.models.mask_network.decision_kernel import decide
from adagrain.models.mask_network.features import move_features
from adagrain.models.mask_network.layers import ONE
from adagrain.models.mask_network.layers_kernel import numbers_of
from adagrain.models.numerics.in_order_kernel import product_in_order

from .slopes_kernel import find_slopes

__all__ = ["OCTAVES", "SHARPNESS", "find_gradients", "layers_of", "learn", "learn_and_decide"]

#: Prices that steps learn from in turn: the one in force times these powers of two.
OCTAVES = (0, -3, 0, 3)

#: The largest logit that the losses ask for, where a bin gains much more than it costs.
SHARPNESS = 3.0

#: Ends of what a bin gains or costs: squares of gradients stay within FP32.
_MOST = 2.0**50

#: Averages below this are 0: subnormal numbers are slow.
_LEAST = np.float32(1e-30)

_INPUTS = len(FEATURES) + 1

_CLAMP, _ONE, _SCALE = np.float32(ONE), np.float32(1), np.float32(FEATURE_SCALE)


@njit(cache=True, nogil=True)
def learn(memory, hidden, met, terms, known, view, adam, steps):  # pragma: no cover - compiled
    """Steps of Adam, in place, each at the next of the prices.

    Parameters
    ----------
    memory : array of float32, (4, n)
        Weights, averages of gradients and of their squares, and gradients; :func:`layers_of` each.
    hidden : int
        Units of hidden layers.
    met, terms : tuple
        What :func:`~.slopes_kernel.find_slopes` takes.
    known : array of int64, (regions, 9)
        Features at a bound of 1.
    view : tuple of int
        Both moves of the features, and how many are shown, as ``move_features`` takes them.
    adam : tuple of float
        Rate and decays, as :func:`_adam` takes them.
    steps : tuple of int
        The number of the first one, from 1, and how many there are.
    """
    gain, cost, _ = find_slopes(met, terms)
    layers, slopes = layers_of(memory[0], hidden), layers_of(memory[3], hidden)
    seen = np.empty(known.shape, dtype=np.int8)
    for step in range(steps[0], steps[0] + steps[1]):
        octaves = OCTAVES[step % len(OCTAVES)]
        move_features(known, view[:2], octaves, view[2], seen)
        find_gradients(layers, seen, gain, cost * 2.0**octaves, slopes)
        _adam(memory, adam, step)


@njit(cache=True, nogil=True)
def learn_and_decide(
    memory, hidden, met, terms, known, view, adam, steps, given, found
):  # pragma: no cover - compiled
    """:func:`learn`, and :func:`~adagrain.models.mask_network.decision_kernel.decide`, in one call.

    Between the steps of a training, a call costs as much as what it computes.
    """
    learn(memory, hidden, met, terms, known, view, adam, steps)
    return decide(layers_of(memory[0], hidden), given, view, found)


@njit(cache=True, nogil=True)
def layers_of(row, hidden):  # pragma: no cover - compiled
    """Matrices one after the other in an array, inputs by outputs; the constant unit among both."""
    width = hidden + 1
    first, second = _INPUTS * width, (_INPUTS + width) * width
    return (
        row[:first].reshape(_INPUTS, width),
        row[first:second].reshape(width, width),
        row[second:].reshape(width, BINS),
    )


@njit(cache=True, nogil=True)
def find_gradients(weights, seen, gain, cost, gradients):  # pragma: no cover - compiled
    """Gradients of the losses.

    Parameters
    ----------
    weights, gradients : tuple of array of float32
        Of each layer, inputs by outputs.
    seen : array of int8, (regions, 9)
        Features.
    gain, cost : array of float64, (regions, 64)
        Slopes of the losses.
    """
    inputs = numbers_of(seen) * _SCALE
    first = _hidden(inputs, weights[0])
    second = _hidden(first, weights[1])
    out = np.empty((inputs.shape[0], weights[2].shape[1]), dtype=np.float32)
    product_in_order(second, weights[2], out)
    for row in range(out.shape[0]):
        _slopes_of_logits(out[row], gain[row], cost[row])
    product_in_order(second.T, out, gradients[2])
    out = _through(out, weights[2], second)
    product_in_order(first.T, out, gradients[1])
    out = _through(out, weights[1], first)
    product_in_order(inputs.T, out, gradients[0])


@njit(cache=True, nogil=True)
def _hidden(inputs, weights):  # pragma: no cover - compiled
    found = np.empty((inputs.shape[0], weights.shape[1]), dtype=np.float32)
    product_in_order(inputs, weights, found)
    return np.minimum(np.maximum(found, -_CLAMP), _CLAMP)


@njit(cache=True, nogil=True)
def _slopes_of_logits(logits, gain, cost):  # pragma: no cover - compiled
    """By logits, in their place: slopes of the losses, times that of sigmoid."""
    for i in range(logits.size):
        gains = np.float32(min(max(gain[i], 0.0), _MOST))
        costs = np.float32(min(max(cost[i], 0.0), _MOST))
        pull = (costs + gains) * logits[i] * np.float32(1 / SHARPNESS)
        e = math.exp(-abs(logits[i]))
        logits[i] = (costs - gains + pull) * (e / ((_ONE + e) * (_ONE + e)))


@njit(cache=True, nogil=True)
def _through(out, weights, hidden):  # pragma: no cover - compiled
    """Slopes of hidden numbers from those of the layer behind, 0 at their clamp."""
    found = np.empty(hidden.shape, dtype=np.float32)
    product_in_order(out, np.ascontiguousarray(weights.T), found)
    return np.where(np.abs(hidden) < _CLAMP, found, np.float32(0))


@njit(cache=True, nogil=True, error_model="numpy")
def _adam(memory, adam, step):  # pragma: no cover - compiled
    """A step of Adam (Kingma and Ba, 2015), in place.

    Parameters
    ----------
    memory : array of float32, (4, n)
        As :func:`learn` takes it.
    adam : tuple of float
        Rate, and decays of both averages.
    step : int
        Which one it is, from 1.
    """
    first, second = np.float32(adam[1]), np.float32(adam[2])
    size = np.float32(adam[0] / (1 - adam[1] ** step))
    root = np.float32(1 / math.sqrt(1 - adam[2] ** step))
    weights, means, squares, gradients = memory[0], memory[1], memory[2], memory[3]
    for i in range(weights.size):
        own = gradients[i]
        mean = first * means[i] + (_ONE - first) * own
        square = second * squares[i] + (_ONE - second) * own * own
        means[i] = mean if abs(mean) > _LEAST else np.float32(0)
        squares[i] = square if square > _LEAST else np.float32(0)
        weights[i] -= size * means[i] / (np.sqrt(squares[i]) * root + np.float32(1e-8))
