"""Frames in slots of one size, which all workers send each other."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist

from adagrain.host.distributed.lost import waited_for
from adagrain.models.codec import CodecError
from adagrain.models.interface.codec import GradientHeader
from adagrain.models.interface.records import size as size_of
from adagrain.models.interface.records import unpack

from .coder import Coder
from .layout import Layout

__all__ = ["Coded", "Gathering", "coded", "gather"]

#: Part of the elements that are expected to fit that is kept of a frame that is too long.
_CAUTION = 0.9


class Coded(NamedTuple):
    """A frame that fits.

    Members
    -------
    frame : bytes
        The frame.
    sent : Tensor
        What is in it.
    wanted : int
        Bytes that a frame of everything would have taken.
    left_out : int
        Elements that did not fit.
    """

    frame: bytes
    sent: torch.Tensor
    wanted: int
    left_out: int


def coded(
    coder: Coder,
    sent: torch.Tensor,
    layout: Layout,
    mantissa_bits: int,
    size: int,
    frame: bytes | None = None,
) -> Coded:
    """The frame of an exchange; where it does not fit, that of the largest elements that do.

    Of shares with numbers that are not finite, one of these is in it at least.

    Parameters
    ----------
    coder : Coder
        Makes the frame.
    sent : Tensor
        BF16, of one dimension.
    layout : Layout
        What it is of.
    mantissa_bits : int
        Of each element.
    size : int
        Bytes that the frame may have: enough for one element of each share.
    frame : bytes or None
        That of everything, where it has been made.

    Raises
    ------
    TypeError, ValueError
        If the coder gives no bytes, or an empty frame, or one that does not fit whatever is in it.
    """
    frame = frame or coder.encode(layout.parts(sent), mantissa_bits=mantissa_bits)
    wanted = _length(frame)
    if 0 < wanted <= size:
        return Coded(frame, sent, wanted, 0)
    places, part = _places(sent), sent
    if sent[places].isfinite().all():
        kept = len(places)
        while kept and _length(frame) > size:
            kept = int(_CAUTION * kept * size / len(frame))
            part = _largest(sent, places, kept)
            frame = coder.encode(layout.parts(part), mantissa_bits=mantissa_bits)
    else:
        part = _not_finite(sent, layout)
        frame = coder.encode(layout.parts(part), mantissa_bits=mantissa_bits)
    left = len(_places(part))
    if not 0 < _length(frame) <= size:
        raise ValueError(
            f"frame of {left} elements that are not zero must have from 1 to {size} bytes, "
            f"not {len(frame)}"
        )
    return Coded(frame, part, wanted, len(places) - left)


def _length(frame: bytes) -> int:
    """Bytes of what a coder gives.

    Raises
    ------
    TypeError
        If it is no bytes.
    """
    if not isinstance(frame, bytes):
        raise TypeError(f"coder must give frames of bytes, not of type {type(frame).__name__}")
    return len(frame)


def _places(sent: torch.Tensor) -> torch.Tensor:
    """Indices of what is not +0."""
    return sent.view(torch.int16).nonzero().flatten()


def _largest(sent: torch.Tensor, places: torch.Tensor, count: int) -> torch.Tensor:
    """The largest elements of those at some places, all else +0."""
    own = sent[places]
    kept = own.abs().topk(count, sorted=False).indices
    return torch.zeros_like(sent).index_copy_(0, places[kept], own[kept])


def _not_finite(sent: torch.Tensor, layout: Layout) -> torch.Tensor:
    """The first element of each share that is not finite, all else +0."""
    found = torch.zeros_like(sent)
    for to, own in zip(layout.parts(found), layout.parts(sent), strict=True):
        for place in own.isfinite().logical_not_().nonzero()[:1]:
            to[place] = own[place]
    return found


class Gathering(NamedTuple):
    """Slots of all workers under way, by rank."""

    slots: list[torch.Tensor]
    work: dist.Work
    layout: Layout

    def wait(self) -> None:
        """Wait for them."""
        with waited_for("the exchange of gradients"):
            self.work.wait()

    def decoded(self, coder: Coder) -> list[torch.Tensor | None]:
        """Elements from each worker, BF16; ``None`` for a frame that is not as it must be."""
        return [_decoded(coder, slot.numpy().tobytes(), self.layout) for slot in self.slots]


def gather(frame: bytes, size: int, layout: Layout, group: dist.ProcessGroup | None) -> Gathering:
    """Begin to send a frame to all workers, in a slot of a size on which they have agreed."""
    slot = torch.zeros(size, dtype=torch.uint8)
    slot[: len(frame)] = torch.frombuffer(bytearray(frame), dtype=torch.uint8)
    slots = list(torch.empty((dist.get_world_size(group), size), dtype=torch.uint8))
    with waited_for("the exchange of gradients"):
        work = dist.all_gather(slots, slot, group=group, async_op=True)
    return Gathering(slots, work, layout)


def _decoded(coder: Coder, slot: bytes, layout: Layout) -> torch.Tensor | None:
    length = unpack(GradientHeader, slot[: size_of(GradientHeader)])["length"]
    try:
        parts = coder.decode(slot[:length], counts=layout.sizes, most=layout.elements)
    except CodecError:
        return None
    if parts[0].dtype != torch.bfloat16:
        return None
    return _joined(parts)


def _joined(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Parts as one tensor, without a copy where they lie behind each other."""
    storage, places = parts[0].untyped_storage().data_ptr(), [x.storage_offset() for x in parts]
    ends = [place + x.numel() for place, x in zip(places, parts, strict=True)]
    alike = all(x.untyped_storage().data_ptr() == storage for x in parts)
    if alike and places[1:] == ends[:-1]:
        return parts[0].as_strided((ends[-1] - places[0],), (1,))
    return torch.cat([*parts])
