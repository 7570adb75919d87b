"""Coders make frames and take them apart: the golden codec, or a device."""

from collections.abc import Sequence
from inspect import signature
from typing import Protocol, cast, runtime_checkable

import torch

from adagrain.models import codec
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask import KeepTable, masked

__all__ = ["Coder", "MaskingCoder", "coder_of", "masking_of"]


#: What a coder is tried with.
_TRIAL = torch.tensor([0.0, 1.0, -2.5], dtype=torch.bfloat16)

#: A mask that keeps the largest of these alone.
_TRIAL_MASK = KeepTable(128, [1] + [0] * (BINS - 1))


@runtime_checkable
class Coder(Protocol):
    """Codes masked gradients; all coders make the same frames, bit for bit.

    A :class:`~adagrain.host.device.coprocessor.Coprocessor` is one if its build has ``encoder`` and
    ``decoder``, and so is the module :mod:`adagrain.models.codec`.
    """

    def encode(self, tensors: Sequence[torch.Tensor], *, mantissa_bits: int | None = None) -> bytes:
        """As :func:`adagrain.models.codec.encode`."""

    def decode(
        self, frame: bytes, *, counts: Sequence[int] | None = None, most: int = 1 << 28
    ) -> Sequence[torch.Tensor]:
        """As :func:`adagrain.models.codec.decode`."""


class MaskingCoder(Coder, Protocol):
    """Masks what it codes; a :class:`~adagrain.host.device.coprocessor.Coprocessor` does."""

    def encode(
        self,
        tensors: Sequence[torch.Tensor],
        *,
        mantissa_bits: int | None = None,
        masks: Sequence[KeepTable | None] | None = None,
    ) -> bytes:
        """The frame of what :func:`adagrain.models.mask.masked` leaves of the tensors."""


def masking_of(coder: Coder) -> MaskingCoder | None:
    """A coder that masks too; ``None`` if this one does not."""
    masks = "masks" in signature(coder.encode).parameters
    return cast(MaskingCoder, coder) if masks else None


def coder_of(chosen: str | Coder, device: Coder | None) -> Coder:
    """The coder that is meant, tried with a few elements.

    Parameters
    ----------
    chosen : str or Coder
        As ``coder`` of :class:`~.options.CompressionOptions`.
    device : Coder or None
        The device that is registered, if there is one.

    Raises
    ------
    ValueError
        If it is a device and there is none, or one that has not what it takes; or if it makes
        another frame than the golden codec, or masks otherwise than the golden mask.
    """
    coder = codec if chosen == "golden" else device if chosen == "device" else chosen
    if not isinstance(coder, Coder):
        raise ValueError(
            "coder must be 'golden', or an opened device, where no device is registered, not "
            f"{chosen!r}"
        )
    frame, right = coder.encode([_TRIAL]), codec.encode([_TRIAL])
    if frame != right or not torch.equal(coder.decode(frame)[0], _TRIAL):
        raise ValueError(f"coder must make the golden codec's frames, and {coder!r} does not")
    masking = masking_of(coder)
    left = codec.encode([masked(_TRIAL, *_TRIAL_MASK)])
    if masking and masking.encode([_TRIAL], masks=[_TRIAL_MASK]) != left:
        raise ValueError(f"coder must mask as the golden mask does, and {coder!r} does not")
    return coder
