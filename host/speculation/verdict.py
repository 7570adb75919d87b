"""The verdict on a guess: how far its update is from the true one, as the device finds it."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.difference import Difference

from .form import Form

__all__ = ["Guess", "Judge", "Verdict"]

_LOWEST_EXPONENT, _HIGHEST_EXPONENT = -126, 127

#: Mantissas from ½ to below this are not rounded up to 1 in 15 bits.
_NOT_ROUNDED = 1 - 2.0**-16


class Guess(NamedTuple):
    """A region's guessed update, and the true one.

    Members
    -------
    before : Tensor
        Weights of the region, of one dimension, which the true update goes out from.
    truth : Tensor
        Those behind it.
    front, guessed : Tensor
        Those which the guessed update goes out from, and those behind it.
    """

    before: torch.Tensor
    truth: torch.Tensor
    front: torch.Tensor
    guessed: torch.Tensor


class Verdict(NamedTuple):
    """Judgement of a guess.

    Members
    -------
    accepted : bool
        It may stand for the truth.
    worthy : bool
        It was worth it, whether or not it may.
    found : Difference
        What the device has found.
    """

    accepted: bool
    worthy: bool
    found: Difference


class Judge:
    """Accepts guesses, or rejects them.

    Compared are updates, from the same weights: an update of 4e-5 of the weights drowns in them.
    The device takes sums in integers, which meet τ as an exact fraction. A guess with elements
    that are not finite is rejected.

    Parameters
    ----------
    device : Coprocessor
        What compares; it has the unit ``difference``.
    tau : float
        Largest error. 0: only weights that are equal to the bit are accepted, zeros of either
        sign being different.
    worth : float
        Largest error of one that was worth it, where τ is not 0.
    form : Form
        How they are measured.
    """

    def __init__(self, device: Coprocessor, tau: float, worth: float, form: Form) -> None:
        self._device = device
        self._tau = tau
        self._worth = worth
        self._form = form

    def judge(self, guesses: Sequence[Guess]) -> list[Verdict]:
        """The verdict on each guess; the device is asked once."""
        if self._tau == 0:
            pairs = [(own.guessed, own.truth) for own in guesses]
            exponents = [0] * len(pairs)
        else:
            pairs = [(own.guessed - own.front, own.truth - own.before) for own in guesses]
            exponents = [_exponent(a, b) for a, b in pairs]
        return [self._verdict(found) for found in self._device.differences_of(pairs, exponents)]

    def _verdict(self, found: Difference) -> Verdict:
        if self._tau == 0:
            equal = bool(found.bitwise_equal)
            return Verdict(equal, equal, found)
        return Verdict(
            self._is_within(self._tau, found), self._is_within(self._worth, found), found
        )

    def _is_within(self, most: float, found: Difference) -> bool:
        """True if a guess is finite, and its error no larger."""
        if math.isinf(most) or not found.valid:
            return found.valid
        error, size = _measured(found, self._form)
        part = Fraction(most)
        return error <= size * (part * part if self._form is Form.RMSE else part)


def _measured(found: Difference, form: Form) -> tuple[int, int]:
    """Error and size of an update, both squared for the root of mean squares."""
    if form is Form.RMSE:
        return found.sum_squared, found.energy
    if form is Form.MEAN_ABSOLUTE:
        return found.sum_absolute, found.sum_magnitude
    return found.largest, found.absmax


def _exponent(a: torch.Tensor, b: torch.Tensor) -> int:
    """The least exponent at which no element is clamped; any, where one is not finite."""
    largest = max(float(torch.linalg.vector_norm(x, math.inf)) for x in (a, b))
    if largest == 0 or not math.isfinite(largest):
        return _LOWEST_EXPONENT
    mantissa, exponent = math.frexp(largest)
    exponent -= mantissa < _NOT_ROUNDED
    return max(_LOWEST_EXPONENT, min(_HIGHEST_EXPONENT, exponent))
