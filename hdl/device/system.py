"""Requests that concern the device as a whole: HELLO, ECHO, READ_REGISTERS."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.exchange import Exchange
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import REGISTERS, Opcode, Status
from adagrain.models.interface.records import size

__all__ = ["SystemCommands"]

#: Addresses of the halves of 64-bit counters; the upper one follows the lower one.
_LONG_COUNTERS = [
    (row.address, REGISTERS[name.removesuffix("low") + "high"].address)
    for name, row in REGISTERS.items()
    if name in ("cycles_low", "elements_low")
]

_Range = data.StructLayout({"first": unsigned(8), "count": unsigned(8)})


class SystemCommands(wiring.Component):
    """Handler of group 0.

    Parameters
    ----------
    configuration : Configuration
        Its ``payload`` matters here.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    registers : ``In(data.ArrayLayout(32, len(REGISTERS)))``
        Values of the registers, by address. The upper half of a long counter is sampled together
        with its lower half, when the two are read by one request.
    hello : ``Out(1)``
        High for one cycle when a session is opened.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._payload = configuration.payload
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "registers": In(data.ArrayLayout(unsigned(32), len(REGISTERS))),
                "hello": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.range = arguments = Deserializer(size(_Range))
        m.submodules.word = word = Serializer(4)
        call, i, o = self.handler.i_call, self.handler.i, self.handler.o
        exchange = Exchange(m, self.handler, arguments)
        left = Signal(range(max(self._payload, len(REGISTERS)) + 1))
        value = Signal(32)
        upper = Signal(32)
        upper_held = Signal()
        address = Signal(range(len(REGISTERS)))
        wanted = data.View(_Range, arguments.o.payload)
        sent = o.valid & o.ready

        m.d.comb += word.i.payload.eq(value)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                m.d.sync += left.eq(call.payload.length)
                with m.If(call.valid):
                    with m.Switch(call.payload.opcode):
                        with m.Case(Opcode.HELLO):
                            m.d.comb += self.hello.eq(1)
                            m.d.sync += left.eq(0)
                            m.next = "ECHO_STATUS"
                        with m.Case(Opcode.ECHO):
                            m.next = "ECHO_STATUS"
                        with m.Case(Opcode.READ_REGISTERS):
                            m.next = "RANGE"
                            with m.If(call.payload.length != size(_Range)):
                                exchange.reply(Status.BAD_LENGTH)
                        with m.Default():
                            exchange.reply(Status.UNKNOWN_OPCODE)
            with m.State("ECHO_STATUS"):
                m.d.comb += [o.valid.eq(1), o.payload.last.eq(left == 0)]
                with m.If(o.ready):
                    m.next = "ECHO"
                    with m.If(left == 0):
                        m.next = "IDLE"
            with m.State("ECHO"):
                m.d.comb += [
                    o.payload.data.eq(i.payload),
                    o.payload.last.eq(left == 1),
                    o.valid.eq(i.valid),
                    i.ready.eq(o.ready),
                ]
                with m.If(sent):
                    m.d.sync += left.eq(left - 1)
                    with m.If(o.payload.last):
                        m.next = "IDLE"
            with m.State("RANGE"):
                m.d.sync += [address.eq(wanted.first), left.eq(wanted.count)]
                with m.If(exchange.take(size(_Range))):
                    m.next = "REGISTERS_STATUS"
                    with m.If((wanted.count == 0) | (wanted.first + wanted.count > len(REGISTERS))):
                        exchange.reply(Status.BAD_VALUE)
            with m.State("REGISTERS_STATUS"):
                m.d.sync += upper_held.eq(0)
                exchange.answer_then("SAMPLE")
            with m.State("SAMPLE"):
                m.d.sync += value.eq(Mux(upper_held, upper, self.registers[address]))
                m.d.sync += upper_held.eq(0)
                with m.Switch(address):
                    for low, high in _LONG_COUNTERS:
                        with m.Case(low):
                            m.d.sync += [upper.eq(self.registers[high]), upper_held.eq(1)]
                m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += word.i.valid.eq(1)
                with m.If(exchange.send(word, last=left == 1)):
                    m.d.sync += [address.eq(address + 1), left.eq(left - 1)]
                    m.next = "SAMPLE"
                    with m.If(left == 1):
                        m.next = "IDLE"
            exchange.reply_state()
        return m
