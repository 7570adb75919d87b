"""Requests for a unit of the codec: bring a table, make a block, read it."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.choice import Choice
from adagrain.hdl.tensor_input import Beat, TensorPort
from adagrain.hdl.tensor_input.tensor_pass import TensorPass
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.code_lengths import CodeLengths
from adagrain.models.interface.units.ranges import Range

from .read_commands import ReadCommands
from .table_commands import TableCommands

__all__ = ["BlockCommands"]


class BlockCommands(wiring.Component):
    """Handler of a unit whose passes make a block by a table in one of its slots.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    unit : Unit
        Its descriptor: requests of passes, one with :data:`CodeLengths`, one with a :data:`Range`.
    core : Component
        What makes blocks: as :class:`EncoderPass`, or :class:`DecoderPass`.
    raw : bool
        As that of :class:`TensorPass`.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    tensor : ``Out(TensorPort(lanes))``
        The tensor input.
    o_data : ``Out(stream.Signature(Beat))``
        Blocks that leave by the data port, each before its pass has ended.
    ... : ``Out(bits)``
        Registers of the unit, which sum fields of its records, by name.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(
        self, configuration: Configuration, unit: Unit, core: wiring.Component, *, raw: bool
    ) -> None:
        check_kind("configuration", configuration, Configuration)
        check_kind("unit", unit, Unit)
        check_kind("core", core, wiring.Component)
        self._configuration, self._unit, self._core = configuration, unit, core
        self._tensor_pass = TensorPass(configuration, unit, raw=raw)
        others = {own.request.head: own.opcode for own in unit.operations}
        self._choice = Choice([unit.passes or (), [others[CodeLengths]], [others[Range]]])
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "tensor": Out(TensorPort(configuration.lanes)),
                "o_data": Out(stream.Signature(Beat)),
                **{register.name: Out(register.bits) for register in unit.registers},
            }
        )

    @property
    def opcodes(self) -> tuple[int, ...]:
        """Those of its operations."""
        return self._choice.opcodes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.choice = choice = self._choice
        m.submodules.tensor_pass = tensor_pass = self._tensor_pass
        m.submodules.table = table = TableCommands()
        m.submodules.reads = reads = ReadCommands(self._configuration)
        m.submodules.core = core = self._core
        connect(m, choice.handler, flipped(self.handler))
        connect(m, choice.inner[0], tensor_pass.handler)
        connect(m, choice.inner[1], table.handler)
        connect(m, choice.inner[2], reads.handler)

        connect(m, tensor_pass.tensor, flipped(self.tensor))
        connect(m, tensor_pass.o_begin, core.i_begin)
        connect(m, tensor_pass.o, core.i)
        connect(m, core.o, tensor_pass.i)
        connect(m, table.o, core.i_code)
        connect(m, reads.o, core.i_read)
        connect(m, core.o_read, reads.i)
        connect(m, core.o_data, flipped(self.o_data))
        m.d.comb += [
            choice.hold.eq(tensor_pass.abandons),
            tensor_pass.refusal.eq(core.refusal),
            core.ends.eq(tensor_pass.ends),
            core.given_up.eq(tensor_pass.gives_up),
            core.slots.eq(table.slots),
            table.busy.eq(tensor_pass.active),
            reads.size.eq(core.size),
        ]
        with m.If(tensor_pass.ended):
            for register in self._unit.registers:
                total = getattr(self, register.name)
                m.d.sync += total.eq(total + core.o.p[register.sums])
        return m
