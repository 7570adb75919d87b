"""The verdict on a guess: how far its update is from the true one, as the device finds it."""

import math
from fractions import Fraction
from typing import NamedTuple

import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.difference import Difference

from .form import Form

__all__ = ["Judge", "Verdict"]

_LOWEST_EXPONENT, _HIGHEST_EXPONENT = -126, 127

#: Mantissas from ½ to below this are not rounded up to 1 in 15 bits.
_NOT_ROUNDED = 1 - 2.0**-16


class Verdict(NamedTuple):
    """What a guess is worth.

    Members
    -------
    accepted : bool
        It may stand for the truth.
    found : Difference
        What the device has found.
    """

    accepted: bool
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
    form : Form
        How it is measured.
    """

    def __init__(self, device: Coprocessor, tau: float, form: Form) -> None:
        self._device = device
        self._tau = tau
        self._form = form

    def judge(
        self,
        before: torch.Tensor,
        guess: torch.Tensor,
        truth: torch.Tensor,
        front: torch.Tensor | None = None,
    ) -> Verdict:
        """The verdict on a region's guessed weights.

        Parameters
        ----------
        before, guess, truth : Tensor
            Weights of a region, of one dimension: before the update, guessed, and true.
        front : Tensor or None
            Those that the guessed update goes out from; ``None``: the same as the true one.
        """
        if self._tau == 0:
            found = self._device.difference(guess, truth, 0)
            return Verdict(bool(found.bitwise_equal), found)
        a, b = guess - (before if front is None else front), truth - before
        found = self._device.difference(a, b, _exponent(a, b))
        return Verdict(found.valid and self._is_near(found), found)

    def _is_near(self, found: Difference) -> bool:
        """True if the error of a finite guess is no larger than τ."""
        if math.isinf(self._tau):
            return True
        error, size = _measured(found, self._form)
        tau = Fraction(self._tau)
        return error <= size * (tau * tau if self._form is Form.RMSE else tau)


def _measured(found: Difference, form: Form) -> tuple[int, int]:
    """Error and size of an update, both squared for the root of mean squares."""
    if form is Form.RMSE:
        return found.sum_squared, found.energy
    if form is Form.MEAN_ABSOLUTE:
        return found.sum_absolute, found.sum_magnitude
    return found.largest, found.absmax


def _exponent(a: torch.Tensor, b: torch.Tensor) -> int:
    """The least exponent at which no element is clamped; any, where one is not finite."""
    largest = max(float(a.abs().amax()), float(b.abs().amax()))
    if largest == 0 or not math.isfinite(largest):
        return _LOWEST_EXPONENT
    mantissa, exponent = math.frexp(largest)
    exponent -= mantissa < _NOT_ROUNDED
    return max(_LOWEST_EXPONENT, min(_HIGHEST_EXPONENT, exponent))
