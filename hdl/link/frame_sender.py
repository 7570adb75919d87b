"""Writes the frames of replies."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.hdl.checks import check_kind
from adagrain.hdl.stream.packet import Packet
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Header
from adagrain.models.link import CHECKSUM_SIZE, HEADER_SIZE

__all__ = ["FrameSender", "reply_layout"]


def reply_layout(window: int) -> data.StructLayout:
    """A reply to be sent.

    Members
    -------
    header : ``Header``
        As it is sent.
    slot : ``range(window)``
        Where in the reply memory the payload lies.
    """
    return data.StructLayout({"header": Header, "slot": range(window)})


class FrameSender(wiring.Component):
    """Joins a header and a payload from the reply memory, and appends their checksum.

    One byte per cycle; the first leaves two cycles after the reply was accepted, and the next
    reply is accepted when the last byte stands in the output register. While ``i.ready`` is
    low, the payload of the reply accepted last may still be read.

    Parameters
    ----------
    configuration : Configuration
        Its ``payload`` and ``window`` are the size and the number of the memory's slots.

    Members
    -------
    i : ``In(stream.Signature(reply_layout(window)))``
        Replies.
    o : ``Out(stream.Signature(Packet))``
        Header, payload and checksum, not yet encoded.
    memory : ``In(memory.ReadPort.Signature(...))``
        The reply memory: slots one after the other.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._payload = configuration.payload
        slots = exact_log2(configuration.payload * configuration.window)
        super().__init__(
            {
                "i": In(stream.Signature(reply_layout(configuration.window))),
                "o": Out(stream.Signature(Packet)),
                "memory": In(memory.ReadPort.Signature(addr_width=slots, shape=8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = CRC32_ISO_HDLC(data_width=8).create()

        header = Signal(Header)  # shifts out, lowest byte first
        length = Signal(range(self._payload + 1))
        slot = Signal.like(self.i.p.slot)
        position = Signal(range(self._payload))  # in the part that is being sent
        next_position = Signal.like(position)
        done = Signal()  # this is the part's last byte
        byte = Signal(Packet)  # goes to the output register, since the memory answers late
        offered = Signal()
        room = ~self.o.valid | self.o.ready
        moved = offered & room

        with m.FSM() as part:
            with m.State("IDLE"):
                m.d.comb += [self.i.ready.eq(1), crc.start.eq(1)]
                m.d.sync += [
                    header.eq(self.i.p.header),
                    length.eq(self.i.p.header.length),
                    slot.eq(self.i.p.slot),
                ]
                with m.If(self.i.valid):
                    m.next = "HEADER"

            with m.State("HEADER"):
                m.d.comb += [
                    byte.data.eq(header.as_value()[:8]),
                    done.eq(position == HEADER_SIZE - 1),
                ]
                with m.If(moved):
                    m.d.sync += header.eq(header.as_value() >> 8)
                    with m.If(done & (length == 0)):
                        m.next = "CHECKSUM"
                    with m.Elif(done):
                        m.next = "PAYLOAD"

            with m.State("PAYLOAD"):
                m.d.comb += [
                    byte.data.eq(self.memory.data),
                    done.eq(position == length - 1),
                ]
                with m.If(moved & done):
                    m.next = "CHECKSUM"

            with m.State("CHECKSUM"):
                m.d.comb += [
                    byte.data.eq(crc.crc.word_select(position[:2], 8)),
                    byte.last.eq(done),
                    done.eq(position == CHECKSUM_SIZE - 1),
                ]
                with m.If(moved & done):
                    m.next = "IDLE"

        m.d.comb += [
            offered.eq(~part.ongoing("IDLE")),
            next_position.eq(Mux(moved & done, 0, position + moved)),
            self.memory.en.eq(1),
            self.memory.addr.eq(Cat(next_position, slot)),
            crc.valid.eq(moved & ~part.ongoing("CHECKSUM")),
            crc.data.eq(byte.data),
        ]
        m.d.sync += position.eq(next_position)
        with m.If(room):
            m.d.sync += [self.o.valid.eq(offered), self.o.payload.eq(byte)]

        return m
