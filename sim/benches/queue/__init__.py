"""Variants of the queue that its bench runs on."""

from adagrain.hdl.stream.packet import Packet, beat_layout
from adagrain.hdl.stream.queue import Queue

VARIANTS = {
    "single": lambda: Queue(8, depth=1),
    "double": lambda: Queue(8, depth=2),
    "packet": lambda: Queue(Packet, depth=5),
    "beat": lambda: Queue(beat_layout(4), depth=16),
}
ICARUS_VARIANTS = ("packet",)
