"""The requests that take a tensor through a unit: one begins the pass, one ends it."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_flag, check_kind
from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.stream.packet import beat_layout
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units import Unit

from .port import TensorPort

__all__ = ["TensorPass"]


class TensorPass(wiring.Component):
    """Handler of the two requests of a pass over a tensor, for any unit.

    The record that begins it starts with the fields of
    :data:`~adagrain.models.interface.units.tensor_input.TENSOR_FIELDS`, and has ``from_link``. The
    request that ends it waits for the unit's record, and gives the pass up as ``INCOMPLETE`` where
    elements are missing and none come. A new session gives an unfinished pass up too. The unit then
    gets a last beat without an element, behind one that it is offered already, and its record is
    dropped.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    unit : Unit
        Its descriptor.
    raw : bool
        Elements of 16 bits come as they are, in the upper halves of words; what these hold below
        is 0.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    tensor : ``Out(TensorPort(lanes))``
        The tensor input.
    o_begin : ``Out(stream.Signature(unit.begin.request.record))``
        Starts the unit.
    refusal : ``In(Status)``
        What the unit says of the record on ``o_begin``, offered or not: ``OK`` or a refusal.
    o : ``Out(stream.Signature(beat_layout(lanes)))``
        The tensor, to the unit.
    i : ``In(stream.Signature(unit.end.reply.record))``
        The unit's record. It counts once the tensor has entered, whose last beat the unit must take
        whether or not this is taken.
    moves : ``In(1)``
        The unit gets on, though its streams do not move.
    active : ``Out(1)``
        From the start of a pass until its record is sent, or it is given up.
    abandons : ``Out(1)``
        The unit is freed of a pass that a new session has ended; this takes it some cycles.
    gives_up : ``Out(1)``
        The pass is given up.
    ends : ``Out(1)``
        The request that ends the pass waits for the unit's record.
    ended : ``Out(1)``
        The record on ``i`` is sent to its end in this cycle.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be, or elements shall come as they are where BF16, which
        do, are not built.
    """

    def __init__(self, configuration: Configuration, unit: Unit, *, raw: bool = False) -> None:
        check_kind("configuration", configuration, Configuration)
        check_kind("unit", unit, Unit)
        check_flag("raw", raw)
        if raw and FormatCode.BF16 not in configuration.formats:
            raise ValueError(
                f"formats must contain BF16 for {unit.name!r}, not "
                f"{', '.join(code.name for code in configuration.formats)}"
            )
        self._configuration, self._raw = configuration, raw
        self._begin, self._end = begin, end = unit.begin, unit.end
        lanes = configuration.lanes
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "tensor": Out(TensorPort(lanes)),
                "o_begin": Out(stream.Signature(begin.request.record)),
                "refusal": In(Status),
                "o": Out(stream.Signature(beat_layout(lanes))),
                "i": In(stream.Signature(end.reply.record)),
                "moves": In(1),
                "active": Out(1),
                "abandons": Out(1),
                "gives_up": Out(1),
                "ends": Out(1),
                "ended": Out(1),
            }
        )

    @property
    def opcodes(self) -> tuple[int, ...]:
        """Those of its operations."""
        return (self._begin.opcode, self._end.opcode)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout, result = self._begin.request.record, self._end.reply.record
        m.submodules.reader = reader = Deserializer(size(layout))
        m.submodules.record = record = Serializer(size(result))
        m.submodules.answer = answer = Answer(1)
        connect(m, flipped(self.handler.i), reader.i)
        connect(m, flipped(self.i), record.i)
        connect(m, record.o, answer.i[0])
        connect(m, answer.o, flipped(self.handler.o))
        call, tensor = self.handler.i_call, self.tensor
        begin = reader.record(layout)
        complete = Signal()  # the unit has the last beat
        self._flushes = flushes = Signal()
        self._held = held = Signal()  # the unit is offered a beat of the tensor since a cycle
        m.d.comb += [
            self.o_begin.payload.eq(begin),
            tensor.begin.payload.count.eq(begin.count),
            tensor.begin.payload.format.eq(self._format_of(begin)),
            tensor.begin.payload.from_link.eq(begin.from_link),
            self.handler.progress.eq(tensor.moves & self.active | self.moves),
        ]
        with m.If(self.active):
            m.d.comb += [
                self.o.payload.eq(tensor.x.payload),
                self.o.valid.eq(tensor.x.valid),
                tensor.x.ready.eq(self.o.ready),
            ]
        with m.If(self.o.valid & self.o.ready & self.o.payload.last):
            m.d.sync += complete.eq(1)
        m.d.sync += held.eq(self.o.valid & ~self.o.ready & ~flushes)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                with m.If(self.handler.hello & self.active):
                    m.next = "ABANDON"
                with m.Elif(call.valid):
                    self._accept(m, answer)
            with m.State("BEGIN"):
                m.d.comb += reader.take(size(layout))
                with m.If(reader.taken):
                    self._check(m, answer, begin)
            with m.State("START"):  # the record stands until another byte is gathered
                m.d.comb += self.o_begin.valid.eq(1)
                with m.If(self.o_begin.ready):
                    m.next = "TENSOR"
            with m.State("TENSOR"):
                m.d.comb += tensor.begin.valid.eq(1)
                with m.If(tensor.begin.ready):
                    m.d.sync += [self.active.eq(1), complete.eq(0)]
                    m.d.comb += answer.give(Status.OK)
                    m.next = "IDLE"
            with m.State("END"):
                m.d.comb += self.ends.eq(1)
                with m.If(self.i.valid & tensor.entered):
                    m.d.comb += answer.give(Status.OK, body=1)
                    m.next = "RECORD"
                with m.Elif(tensor.starved):
                    m.next = "GIVE_UP"
            with m.State("GIVE_UP"):
                with m.If(self._flush(m, complete)):
                    m.d.comb += answer.give(Status.INCOMPLETE)
                    m.next = "IDLE"
            with m.State("ABANDON"):
                m.d.comb += self.abandons.eq(1)
                with m.If(self._flush(m, complete)):
                    m.next = "IDLE"
            with m.State("RECORD"):
                m.d.comb += self.ended.eq(record.i.valid & record.i.ready)
                m.d.comb += tensor.end.eq(self.ended)
                with m.If(self.ended):
                    m.d.sync += self.active.eq(0)
                    m.next = "IDLE"
        return m

    def _format_of(self, begin: data.View) -> Value:
        """Format that the tensor input is told: as BF16, elements of 16 bits come as they are."""
        if not self._raw:
            return begin.format
        return Mux(begin.format == FormatCode.FP32, FormatCode.FP32, FormatCode.BF16)

    def _accept(self, m: Module, answer: Answer) -> None:
        """The status that can be told before the payload."""
        with m.If(self.handler.i_call.payload.opcode == self._begin.opcode):
            m.next = "BEGIN"
            with m.If(self.tensor.busy):
                m.d.comb += answer.give(Status.BUSY)
                m.next = "IDLE"
        with m.Else():
            m.next = "END"
            with m.If(~self.active):
                m.d.comb += answer.give(Status.NOT_STARTED)
                m.next = "IDLE"

    def _check(self, m: Module, answer: Answer, begin: data.View) -> None:
        """Begin the pass, or refuse a tensor that cannot come in, or that the unit refuses."""
        m.next = "IDLE"
        with m.If(~begin.format.matches(*self._configuration.formats)):
            m.d.comb += answer.give(Status.UNSUPPORTED)
        with m.Elif(self.refusal != Status.OK):
            m.d.comb += answer.give(self.refusal)
        with m.Elif(begin.count == 0):
            m.d.comb += answer.give(Status.BAD_VALUE)
        with m.Else():
            m.next = "START"

    def _flush(self, m: Module, complete: Signal) -> Signal:
        """Give the pass up; high when the unit is through."""
        through = self.i.valid & complete
        m.d.comb += self.gives_up.eq(1)
        with m.If(~self._held):
            m.d.comb += [
                self._flushes.eq(1),
                self.tensor.end.eq(1),
                self.tensor.x.ready.eq(0),
                self.o.payload.keep.eq(0),
                self.o.payload.last.eq(1),
                self.o.valid.eq(~complete),
                self.i.ready.eq(complete),
            ]
        with m.If(through):
            m.d.sync += self.active.eq(0)
        return through
