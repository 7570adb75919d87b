"""The interface between the dispatcher and a handler of requests."""

from amaranth.hdl import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.packet import Packet

__all__ = ["Call", "HandlerSignature"]

#: What a handler is asked for. ``length`` counts the payload's bytes.
Call = data.StructLayout({"opcode": unsigned(8), "length": unsigned(16)})


class HandlerSignature(wiring.Signature):
    """Ports of a handler, as the handler sees them.

    For each transfer on ``i_call``, the handler sends one packet on ``o``: a byte of
    :class:`~adagrain.models.interface.protocol.Status`, then the reply's payload. It takes as many
    bytes from ``i`` as it wants, up to ``length``, and none after the packet's last byte.

    The handler of a unit has an attribute ``opcodes``, those of its operations; no others come.

    A handler that makes no progress for too long is reset with its unit, in the middle of whatever
    it does, and must then take the next call. Every transfer is progress.

    Members
    -------
    i_call : ``In(stream.Signature(Call))``
        Request.
    i : ``In(stream.Signature(8))``
        Its payload.
    o : ``Out(stream.Signature(Packet))``
        Status and reply's payload.
    progress : ``Out(1)``
        The request gets on, though no stream here moves.
    hello : ``In(1)``
        A session was opened; high for a cycle in which no request is executed.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i_call": In(stream.Signature(Call)),
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(Packet)),
                "progress": Out(1),
                "hello": In(1),
            }
        )
