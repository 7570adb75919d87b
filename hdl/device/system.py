"""Requests that concern the device as a whole: HELLO, ECHO, REGISTERS."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.exchange import Exchange
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units import registers
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.unit import GROUPS, SPAN

__all__ = ["SystemCommands"]

#: Values of all registers.
Registers = data.StructLayout(
    {register.name: unsigned(register.bits) for _, _, register in registers()}
)

#: Words of registers that a request can name.
_WORDS = GROUPS * SPAN


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
    registers : ``In(data.StructLayout({name: bits}))``
        Values of the registers of all units. The upper half of a long one is sampled together
        with its lower half, when the two are read by one request.
    hello : ``Out(1)``
        High for one cycle when a session is opened.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._payload = configuration.payload
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "registers": In(Registers),
                "hello": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.range = arguments = Deserializer(size(ByteRange))
        m.submodules.word = word = Serializer(4)
        call, i, o = self.handler.i_call, self.handler.i, self.handler.o
        exchange = Exchange(m, self.handler, arguments)
        left = Signal(range(self._payload + 1))
        value = Signal(32)
        upper = Signal(32)
        upper_held = Signal()
        address = Signal(range(_WORDS))
        wanted = data.View(ByteRange, arguments.o.payload)
        sent = o.valid & o.ready

        m.d.comb += word.i.payload.eq(value)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                m.d.sync += left.eq(call.payload.length)
                with m.If(call.valid):
                    with m.Switch(call.payload.opcode):
                        with m.Case(SystemOpcode.HELLO):
                            m.d.comb += self.hello.eq(1)
                            m.d.sync += left.eq(0)
                            m.next = "ECHO_STATUS"
                        with m.Case(SystemOpcode.ECHO):
                            m.next = "ECHO_STATUS"
                        with m.Case(SystemOpcode.REGISTERS):
                            m.next = "RANGE"
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
                with m.If(exchange.take(size(ByteRange))):
                    m.next = "REGISTERS_STATUS"
                    outside = wanted.first + wanted.count > _WORDS
                    with m.If((wanted.count == 0) | outside | (wanted.count > self._payload // 4)):
                        exchange.reply(Status.BAD_VALUE)
            with m.State("REGISTERS_STATUS"):
                m.d.sync += upper_held.eq(0)
                exchange.answer_then("SAMPLE")
            with m.State("SAMPLE"):
                self._sample(m, address, value, upper, upper_held)
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

    def _sample(
        self, m: Module, address: Signal, value: Signal, upper: Signal, upper_held: Signal
    ) -> None:
        """Take the word of an address; with the lower half of a long register the upper one."""
        m.d.sync += [value.eq(0), upper_held.eq(0)]
        with m.Switch(address):
            for number, _, register in registers():
                whole = self.registers[register.name]
                with m.Case(number):
                    m.d.sync += value.eq(whole[:32])
                    if register.words == 2:
                        m.d.sync += [upper.eq(whole[32:]), upper_held.eq(1)]
                if register.words == 2:
                    with m.Case(number + 1):
                        m.d.sync += value.eq(Mux(upper_held, upper, whole[32:]))
