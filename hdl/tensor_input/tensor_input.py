"""The tensor input of a device, with its handler of requests."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2, exact_log2

from adagrain.hdl.checks import check_integer, check_kind
from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.stream.records import Deserializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FORMATS
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.tensor_input import BEAT, TensorOpcode

from .downsizer import Downsizer
from .port import TensorPort
from .unpacker import Unpacker

__all__ = ["Beat", "TensorInput"]

#: Words that enter at once.
Beat = data.ArrayLayout(unsigned(32), BEAT // 4)

#: Beats of the longest tensor: 2**32 - 1 elements of 32 bits, the last beat a part.
_MISSING = range((1 << 32) * 4 // BEAT + 1)


class TensorInput(wiring.Component):
    """Brings tensors from the data port, or from requests, to one of several units.

    Takes just the beats that hold the announced elements; what the last one holds beyond them is
    dropped. Elements are widened exactly to FP32, L words per cycle without bubbles; a unit that
    does not take them makes the port wait. The handler takes the bytes of a request, a byte per
    cycle, where the pass that is under way reads the link.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    users : int
        Units that take tensors.
    starvation : int
        Cycles without a beat from the data port after which a pass counts as starved.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    i_data : ``In(stream.Signature(Beat))``
        Data port: the tensor's memory in beats of 16 bytes, zero-padded.
    user : ``Out(TensorPort(lanes)).array(users)``
        The units.

    Raises
    ------
    TypeError, ValueError
        If there is no unit, or ``starvation`` is not positive.
    """

    #: Those of its operations.
    opcodes = (TensorOpcode.DATA,)

    def __init__(
        self, configuration: Configuration, users: int, *, starvation: int = 1 << 16
    ) -> None:
        check_kind("configuration", configuration, Configuration)
        check_integer("users", users, 1)
        check_integer("starvation", starvation, 1)
        self._configuration = configuration
        self._starvation = starvation
        ports = TensorPort(configuration.lanes).flip()
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "i_data": In(stream.Signature(Beat)),
                "user": Out(ports).array(users),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._configuration.lanes
        active, from_link, missing = Signal(), Signal(), Signal(_MISSING)
        restart = Signal()
        self._receives = Signal()  # words of a request come
        through = Signal()  # the last element is out; what its beat holds beyond it goes nowhere
        m.submodules.downsizer = downsizer = ResetInserter(restart)(Downsizer(BEAT // 4, lanes))
        m.submodules.unpacker = unpacker = ResetInserter(restart)(
            Unpacker(lanes, self._configuration.formats)
        )
        m.d.comb += restart.eq(~active)
        with m.If(~active):
            m.d.sync += through.eq(0)
        with m.Elif(unpacker.o.valid & unpacker.o.ready & unpacker.o.payload.last):
            m.d.sync += through.eq(1)
        link = unpacker.i.signature.flip().create(path=("link",))
        self._begin(m, unpacker, active, from_link, missing)
        with m.If(active & (missing != 0) & ~from_link):
            m.d.comb += [
                downsizer.i.payload.eq(self.i_data.payload),
                downsizer.i.valid.eq(self.i_data.valid),
                self.i_data.ready.eq(downsizer.i.ready),
            ]
        for source, chosen in ((link, active & from_link), (downsizer.o, active & ~from_link)):
            with m.If(chosen):
                m.d.comb += [
                    unpacker.i.payload.eq(source.payload),
                    unpacker.i.valid.eq(source.valid),
                    source.ready.eq(unpacker.i.ready | through),
                ]
        self._give(m, unpacker, active)
        self._watch(m, active, from_link, missing)
        through_link = self._handle(m, link, active & from_link, active, missing)
        with m.If(downsizer.i.valid & downsizer.i.ready | through_link):
            m.d.sync += missing.eq(missing - 1)
        return m

    def _begin(
        self, m: Module, unpacker: Unpacker, active: Signal, from_link: Signal, missing: Signal
    ) -> None:
        """Begin a pass for the unit that offers one, and end it as it says."""
        started = Signal()  # ``unpacker`` knows of the tensor
        tensor = Signal.like(unpacker.i_begin.payload)
        owner = self._owner = Signal(range(len(self.user)))
        m.d.comb += [
            unpacker.i_begin.payload.eq(tensor),
            unpacker.i_begin.valid.eq(active & ~started),
        ]
        m.d.sync += started.eq(active)
        for number, user in enumerate(self.user):
            begin = user.begin.payload
            m.d.comb += user.begin.ready.eq(~active & ~self._receives)
            with m.If(user.begin.valid & user.begin.ready):
                m.d.sync += [
                    active.eq(1),
                    owner.eq(number),
                    from_link.eq(begin.from_link),
                    missing.eq(self._beats(begin)),
                    tensor.count.eq(begin.count),
                    tensor.format.eq(begin.format),
                ]
            with m.If(user.end & (owner == number)):
                m.d.sync += active.eq(0)

    def _beats(self, begin: data.View) -> Value:
        """Beats that hold the announced elements."""
        per_beat = {code: BEAT * 8 // FORMATS[code].bits for code in self._configuration.formats}
        rest: Value | int = 0
        for code, elements in per_beat.items():
            rest = Mux(begin.format == code, elements - 1, rest)
        filled = begin.count + rest
        beats: Value | int = 0
        for code, elements in per_beat.items():
            beats = Mux(begin.format == code, filled >> exact_log2(elements), beats)
        return Value.cast(beats)

    def _give(self, m: Module, unpacker: Unpacker, active: Signal) -> None:
        """Offer the elements to the unit whose pass it is."""
        for number, user in enumerate(self.user):
            mine = self._owner == number
            m.d.comb += [
                user.x.payload.eq(unpacker.o.payload),
                user.x.valid.eq(unpacker.o.valid & mine),
                user.busy.eq(active),
                user.moves.eq(self.i_data.valid & self.i_data.ready),
            ]
            with m.If(mine):
                m.d.comb += unpacker.o.ready.eq(user.x.ready)

    def _watch(self, m: Module, active: Signal, from_link: Signal, missing: Signal) -> None:
        """Notice a port that offers nothing."""
        bits = ceil_log2(self._starvation)
        first = (1 << bits) - self._starvation
        idle = Signal(bits + 1, init=first)  # its upper bit tells that there were too many
        waits = active & (missing != 0)
        over = idle[-1]
        for user in self.user:
            m.d.comb += user.entered.eq(missing == 0)
            m.d.comb += user.starved.eq(waits & (from_link | over & ~self.i_data.valid))
        with m.If(~waits | from_link | self.i_data.valid):
            m.d.sync += idle.eq(first)
        with m.Elif(~over):
            m.d.sync += idle.eq(idle + 1)

    def _handle(
        self,
        m: Module,
        link: stream.Interface,
        reads_link: Value,
        active: Signal,
        missing: Signal,
    ) -> Value:
        """Execute requests; high in the cycle in which the last words of a beat enter."""
        width = 4 * self._configuration.lanes
        m.submodules.reader = reader = Deserializer(width)
        m.submodules.answer = answer = Answer(0)
        connect(m, flipped(self.handler.i), reader.i)
        connect(m, answer.o, flipped(self.handler.o))
        call = self.handler.i_call
        left = Signal(range(self._configuration.payload // width + 1))
        m.d.comb += link.payload.eq(reader.o.payload)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                m.d.sync += left.eq(call.payload.length // width)
                with m.If(call.valid):
                    with m.If(~active):
                        m.d.comb += answer.give(Status.NOT_STARTED)
                    with m.Elif(~reads_link | (call.payload.length // BEAT > missing)):
                        m.d.comb += answer.give(Status.OVERFLOW)
                    with m.Else():
                        m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += [*reader.feed(width, link), self._receives.eq(1)]
                with m.If(~reads_link):  # the pass is over: the rest goes nowhere
                    m.d.comb += reader.o.ready.eq(1)
                with m.If(reader.taken):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.d.comb += answer.give(Status.OK)
                        m.next = "IDLE"
        return reader.taken & (left % (BEAT // width) == 1 % (BEAT // width))
