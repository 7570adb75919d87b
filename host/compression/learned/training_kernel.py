"""Gradients of the mask generation network, and Adam, compiled.

The constant unit of each hidden layer is one of its columns, which is at its clamp: so nothing
flows back to the column's weights, and it stays.
"""

import math

import numpy as np
from numba import njit

from adagrain.models.mask_network import FEATURE_SCALE
from adagrain.models.mask_network.features import move_features
from adagrain.models.mask_network.layers import ONE
from adagrain.models.mask_network.layers_kernel import numbers_of
from adagrain.models.numerics.in_order_kernel import product_in_order

from .slopes_kernel import find_slopes

__all__ = ["OCTAVES", "SHARPNESS", "find_gradients", "learn"]

#: Prices that steps learn from in turn: the one in force times these powers of two.
OCTAVES = (0, -3, 0, 3)

#: The largest logit that the losses ask for, where a bin gains much more than it costs.
SHARPNESS = 3.0

#: Ends of what a bin gains or costs: squares of gradients stay within FP32.
_MOST = 2.0**50

#: Averages below this are 0: subnormal numbers are slow.
_LEAST = np.float32(1e-30)

_CLAMP, _ONE, _SCALE = np.float32(ONE), np.float32(1), np.float32(FEATURE_SCALE)


@njit(cache=True, nogil=True)
def learn(memory, layers, slopes, met, given, adam, times):  # pragma: no cover - compiled
    """Steps of Adam, in place, each at the next of the prices.

    Parameters
    ----------
    memory : tuple of array of float32
        Weights, averages and gradients, as :func:`_adam` takes them.
    layers, slopes : tuple of array of float32
        Of each layer the same weights and gradients, inputs by outputs.
    met : tuple
        What :func:`~.slopes_kernel.find_slopes` takes.
    given : tuple
        Features, moves and how many are shown, as ``move_features`` takes them.
    adam : tuple
        Rate, decays, and the number of the first step, as :func:`_adam` takes them.
    times : int
        How many steps.
    """
    gain, cost, _ = find_slopes(*met)
    known, moves, shown = given
    weights, averages, gradients = memory
    rate, decays, first = adam
    seen = np.empty(known.shape, dtype=np.int8)
    for step in range(first, first + times):
        octaves = OCTAVES[step % len(OCTAVES)]
        move_features(known, moves, octaves, shown, seen)
        find_gradients(layers, seen, gain, cost * 2.0**octaves, slopes)
        _adam(weights, averages, gradients, rate, decays, step)


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
def _adam(weights, averages, gradients, rate, decays, step):  # pragma: no cover - compiled
    """A step of Adam (Kingma and Ba, 2015), in place.

    Parameters
    ----------
    weights, gradients : array of float32, (n,)
        All of them.
    averages : array of float32, (2, n)
        Of gradients, and of their squares.
    rate : float
        Of the step.
    decays : tuple of float
        Of both averages.
    step : int
        Which one it is, from 1.
    """
    first, second = np.float32(decays[0]), np.float32(decays[1])
    size = np.float32(rate / (1 - decays[0] ** step))
    root = np.float32(1 / math.sqrt(1 - decays[1] ** step))
    means, squares = averages[0], averages[1]
    for i in range(weights.size):
        own = gradients[i]
        mean = first * means[i] + (_ONE - first) * own
        square = second * squares[i] + (_ONE - second) * own * own
        means[i] = mean if abs(mean) > _LEAST else np.float32(0)
        squares[i] = square if square > _LEAST else np.float32(0)
        weights[i] -= size * means[i] / (np.sqrt(squares[i]) * root + np.float32(1e-8))
