"""The stream queue; its behaviour is benched in sim/queue."""

from adagrain.hdl.stream.packet import Packet
from adagrain.hdl.stream.queue import Queue


def test_streams_keep_the_shape() -> None:
    queue = Queue(Packet, depth=3)
    assert queue.signature.members["i"].signature.members["payload"].shape is Packet
    assert queue.signature.members["o"].signature.members["payload"].shape is Packet
    assert (queue.shape, queue.depth) == (Packet, 3)
