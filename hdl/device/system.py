"""Requests that concern the device as a whole: HELLO, ECHO, REGISTERS."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units import registers
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.unit import GROUPS, SPAN

__all__ = ["SystemCommands"]

#: Words of registers that a request can name.
_WORDS = GROUPS * SPAN

#: Bodies of answers.
_ECHO, _REGISTERS = 1, 2


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

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    #: Those of its operations.
    opcodes = tuple(SystemOpcode)

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._payload = configuration.payload
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "registers": In(_values()),
                "hello": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = Deserializer(size(ByteRange))
        m.submodules.word = word = Serializer(4)
        m.submodules.answer = answer = Answer(2)
        call, i, echo = self.handler.i_call, self.handler.i, answer.i[_ECHO - 1]
        left = Signal(range(self._payload + 1))
        value = Signal(32)
        upper = Signal(32)
        upper_held = Signal()
        address = Signal(range(_WORDS))
        wanted = reader.record(ByteRange)
        connect(m, word.o, answer.i[_REGISTERS - 1])
        connect(m, answer.o, flipped(self.handler.o))
        m.d.comb += [
            reader.i.payload.eq(i.payload),
            echo.p.data.eq(i.payload),
            echo.p.last.eq(left == 1),
            word.i.payload.eq(value),
            word.last.eq(left == 1),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                m.d.sync += left.eq(call.payload.length)
                with m.If(call.valid):
                    self._accept(m, answer)
            with m.State("ECHO"):
                m.d.comb += [echo.valid.eq(i.valid), i.ready.eq(echo.ready)]
                with m.If(echo.valid & echo.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "IDLE"
            with m.State("RANGE"):
                m.d.comb += [*reader.take(size(ByteRange)), reader.i.valid.eq(i.valid)]
                m.d.comb += i.ready.eq(reader.i.ready)
                m.d.sync += [address.eq(wanted.first), left.eq(wanted.count), upper_held.eq(0)]
                with m.If(reader.taken):
                    self._check(m, answer, wanted)
            with m.State("SAMPLE"):
                self._sample(m, address, value, upper, upper_held)
                m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += word.i.valid.eq(1)
                with m.If(word.i.ready):
                    m.d.sync += [address.eq(address + 1), left.eq(left - 1)]
                    m.next = "SAMPLE"
                    with m.If(left == 1):
                        m.next = "IDLE"
        return m

    def _accept(self, m: Module, answer: Answer) -> None:
        """Go on with the request; an echo of nothing ends here."""
        call = self.handler.i_call.payload
        with m.Switch(call.opcode):
            with m.Case(SystemOpcode.HELLO):
                m.d.comb += [self.hello.eq(1), *answer.give(Status.OK)]
            with m.Case(SystemOpcode.ECHO):
                m.d.comb += answer.give(Status.OK)
                with m.If(call.length != 0):
                    m.d.comb += answer.give(Status.OK, body=_ECHO)
                    m.next = "ECHO"
            with m.Case(SystemOpcode.REGISTERS):
                m.next = "RANGE"

    def _check(self, m: Module, answer: Answer, wanted: data.View) -> None:
        """Begin to read registers, or refuse what cannot be read."""
        outside = wanted.first + wanted.count > _WORDS
        m.next = "SAMPLE"
        m.d.comb += answer.give(Status.OK, body=_REGISTERS)
        with m.If((wanted.count == 0) | outside | (wanted.count > self._payload // 4)):
            m.d.comb += answer.give(Status.BAD_VALUE)
            m.next = "IDLE"

    def _sample(
        self, m: Module, address: Signal, value: Signal, upper: Signal, upper_held: Signal
    ) -> None:
        """Take the word of an address; with the lower half of a long register the upper one."""
        word, following = Signal(32), Signal(32)
        m.d.sync += [value.eq(Mux(upper_held, upper, word)), upper.eq(following), upper_held.eq(0)]
        with m.Switch(address):
            for number, _, register in registers():
                whole = self.registers[register.name]
                with m.Case(number):
                    m.d.comb += word.eq(whole[:32])
                    if register.words == 2:
                        m.d.comb += following.eq(whole[32:])
                        m.d.sync += upper_held.eq(1)
                if register.words == 2:
                    with m.Case(number + 1):
                        m.d.comb += word.eq(whole[32:])


def _values() -> data.StructLayout:
    """Values of the registers of all units that are declared by now."""
    return data.StructLayout(
        {register.name: unsigned(register.bits) for _, _, register in registers()}
    )
