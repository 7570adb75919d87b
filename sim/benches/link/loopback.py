"""A link whose every request is its own reply: bytes against bytes, at full speed."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.link import Link
from adagrain.hdl.stream.packet import Packet
from adagrain.models.interface.configuration import Configuration

__all__ = ["Loopback"]


class Loopback(wiring.Component):
    """Answers each request with its opcode as the status, and its payload as the payload.

    Its golden model is ``LinkModel(configuration, execute=bytes)``.

    Parameters
    ----------
    configuration : Configuration
        The link's.

    Members
    -------
    i, o : byte streams
        The link's.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.link = link = Link(self._configuration)
        connect(m, flipped(self.i), link.i)
        connect(m, link.o, flipped(self.o))
        request, reply = link.o_request, link.i_reply
        m.d.comb += [
            reply.valid.eq(request.valid),
            request.ready.eq(reply.ready),
            *[reply.payload[name].eq(request.payload[name]) for name, _ in Packet],
        ]
        return m
