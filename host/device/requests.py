"""Large operations as commands, each as long as the line suits when its turn comes."""

from collections.abc import Iterator

import numpy as np

from adagrain.host.link.frame_size import FrameSize
from adagrain.host.link.session import Request
from adagrain.models.interface.records import size
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.statistics import BINS, HistogramBin, StatisticsOpcode
from adagrain.models.interface.units.tensor_input import TensorOpcode

__all__ = ["histogram_requests", "parts", "pass_requests"]

#: Most items that one read asks for: their count has eight bits.
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
    raw = np.empty(0, np.uint8) if words is None else words.view(np.uint8)
    at = 0
    while at < len(raw):
        step = frame_size.payload
        yield Request(TensorOpcode.DATA, raw[at : at + step].tobytes())
        at += step
    yield Request(unit.end.opcode)


def histogram_requests(frame_size: FrameSize) -> Iterator[Request]:
    """Read all bins of the last histogram."""
    for at, count in parts(0, BINS, size(HistogramBin), frame_size):
        yield Request(StatisticsOpcode.HISTOGRAM, bytes([at, count]))


def parts(
    first: int, count: int, width: int, frame_size: FrameSize, items: int = 1
) -> Iterator[tuple[int, int]]:
    """Start and number of entries, in as few reads as the line suits.

    Parameters
    ----------
    width : int
        Bytes of an entry.
    items : int
        What an entry counts as, when it is asked for.
    """
    end, most = first + count, _MOST // items
    while first < end:
        step = min(end - first, max(1, min(most, frame_size.payload // width)))
        yield first, step
        first += step
