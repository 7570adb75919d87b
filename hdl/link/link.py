"""The device's end of the link, from bytes to requests and back."""

from amaranth.hdl import Module
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.stream.packet import Packet, Reply
from adagrain.models.interface.configuration import Configuration
from adagrain.models.link import HEADER_SIZE

from .cobs_decoder import CobsDecoder
from .cobs_encoder import CobsEncoder
from .frame_checker import FrameChecker
from .frame_sender import FrameSender
from .packet_queue import PacketQueue
from .session import Counters, Session

__all__ = ["Link"]

#: Bytes that a frame takes in the receive queue beside its payload: check, header, and a
#: free place for the check of the next one.
RECORD_OVERHEAD = HEADER_SIZE + 2


class Link(wiring.Component):
    """Receives requests over any byte pipe, and has each of them executed once.

    ``docs/link.md`` tells the protocol; :class:`~adagrain.models.link.LinkModel` does the same
    byte for byte. Receiving, executing and sending go on at the same time, each at a byte
    per cycle but for a few cycles per frame; the receive queue has room for ``window`` longest
    frames. ``i.ready`` goes low only when that queue is full, because the executor is busy or
    nobody takes the replies; no input whatever stops it for good. There are no timers: it is
    the host that notices a lost frame.

    A reply must have no more bytes than the status and ``payload``; the executor must take
    each request to its end, and may answer from its first byte on.

    Parameters
    ----------
    configuration : Configuration
        Its ``payload`` and ``window`` matter here.

    Members
    -------
    i : ``In(stream.Signature(8))``
        Bytes from the host.
    o : ``Out(stream.Signature(8))``
        Bytes to the host.
    o_request : ``Out(stream.Signature(Packet))``
        Requests to execute: opcode and payload.
    request_length : ``Out(16)``
        Bytes of the request's payload; stable from its first byte until it is answered.
    i_reply : ``In(stream.Signature(Reply))``
        What became of them: status and payload, or a status in place of what has come of these.
    counters : ``Out(Counters)``
        What was counted since reset, by the names of the registers.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._configuration = configuration
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "o_request": Out(stream.Signature(Packet)),
                "request_length": Out(16),
                "i_reply": In(stream.Signature(Reply)),
                "counters": Out(Counters),
            }
        )

    @property
    def configuration(self) -> Configuration:
        return self._configuration

    def elaborate(self, platform: object) -> Module:
        m = Module()
        payload, window = self._configuration.payload, self._configuration.window
        depth = 1 << (window * (payload + RECORD_OVERHEAD) - 1).bit_length()

        m.submodules.decoder = decoder = CobsDecoder()
        m.submodules.checker = checker = FrameChecker(payload=payload, depth=depth)
        m.submodules.received = received = PacketQueue(depth)
        m.submodules.session = session = Session(self._configuration)
        m.submodules.replies = replies = memory.Memory(shape=8, depth=window * payload, init=[])
        m.submodules.sender = sender = FrameSender(self._configuration)
        m.submodules.encoder = encoder = CobsEncoder()

        connect(m, flipped(self.i), decoder.i)
        connect(m, decoder.o, checker.i)
        connect(m, checker.o, received.i)
        connect(m, received.o, session.i)
        connect(m, session.o_request, flipped(self.o_request))
        connect(m, flipped(self.i_reply), session.i_reply)
        connect(m, session.memory, replies.write_port())
        connect(m, session.o, sender.i)
        connect(m, sender.memory, replies.read_port())
        connect(m, sender.o, encoder.i)
        connect(m, encoder.o, flipped(self.o))
        m.d.comb += [
            self.request_length.eq(session.request_length),
            self.counters.eq(session.counters),
        ]

        return m
