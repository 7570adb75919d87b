"""Large operations as commands, each as long as the line suits when its turn comes."""

from collections.abc import Iterator, Sequence

import numpy as np

from adagrain.host.link.frame_size import FrameSize
from adagrain.host.link.session import Request
from adagrain.models.interface.records import size
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.region_manager import (
    WORDS_PER_REGION,
    RegionOpcode,
    RegionRecord,
    RegionStep,
    RegionUpdate,
)
from adagrain.models.interface.units.statistics import BINS, HistogramBin, StatisticsOpcode
from adagrain.models.interface.units.tensor_input import TensorOpcode

__all__ = ["histogram_requests", "parts", "pass_requests", "step_payloads", "table_requests"]

#: Most entries that one read asks for: their count has eight bits.
_MOST = 0xFF


def pass_requests(
    unit: Unit, begin: bytes, words: np.ndarray | None, frame_size: FrameSize
) -> Iterator[Request]:
    """A pass of a unit; its words too, where they do not go through the data port.

    Raises
    ------
    ValueError
        If the unit has no passes.
    """
    yield Request(unit.begin.opcode, begin)
    octets = np.empty(0, np.uint8) if words is None else words.view(np.uint8)
    at = 0
    while at < len(octets):
        step = frame_size.payload
        yield Request(TensorOpcode.DATA, octets[at : at + step].tobytes())
        at += step
    yield Request(unit.end.opcode)


def table_requests(first: int, count: int, frame_size: FrameSize) -> Iterator[Request]:
    """Read records of the region table."""
    most = _MOST // WORDS_PER_REGION
    for at, records in parts(first, count, size(RegionRecord), frame_size, most):
        start = (at * WORDS_PER_REGION).to_bytes(2, "little")
        yield Request(RegionOpcode.READ, start + bytes([records * WORDS_PER_REGION]))


def histogram_requests(frame_size: FrameSize) -> Iterator[Request]:
    """Read all bins of the last histogram."""
    for at, count in parts(0, BINS, size(HistogramBin), frame_size):
        yield Request(StatisticsOpcode.HISTOGRAM, bytes([at, count]))


def step_payloads(updates: Sequence[bytes], head: bytes, frame_size: FrameSize) -> list[bytes]:
    """Payloads of STEP: as few as the line suits; the loss is counted once."""
    room = max(1, (frame_size.payload - size(RegionStep)) // size(RegionUpdate))
    heads = [head, bytes(len(head))]
    return [
        heads[at > 0] + b"".join(updates[at : at + room])
        for at in range(0, max(len(updates), 1), room)
    ]


def parts(
    first: int, count: int, width: int, frame_size: FrameSize, most: int = _MOST
) -> Iterator[tuple[int, int]]:
    """Start and number of records of that many octets, in as few reads as the line suits."""
    end = first + count
    while first < end:
        step = min(end - first, max(1, min(most, frame_size.payload // width)))
        yield first, step
        first += step
