"""Requests for the encoder: bring a table, code a block, read it."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.choice import Choice
from adagrain.hdl.tensor_input import Beat, TensorPort
from adagrain.hdl.tensor_input.tensor_pass import TensorPass
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.encoder import ENCODER, EncoderOpcode

from .encoder_pass import EncoderPass
from .read_commands import ReadCommands
from .table_commands import TableCommands

__all__ = ["EncoderCommands"]


class EncoderCommands(wiring.Component):
    """Handler of group 6, with mask and encoder.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    tensor : ``Out(TensorPort(lanes))``
        The tensor input.
    o_data : ``Out(stream.Signature(Beat))``
        Coded blocks that leave by the data port, each before its pass has ended.
    encoded, encoded_bytes : ``Out(64)``
        Elements of all passes that have ended, and bytes of their blocks.

    Raises
    ------
    TypeError, ValueError
        If ``configuration`` is none, or has no BF16, as which elements of 16 bits come.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._configuration = configuration
        self._tensor_pass = TensorPass(configuration, ENCODER, raw=True)
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "tensor": Out(TensorPort(configuration.lanes)),
                "o_data": Out(stream.Signature(Beat)),
                "encoded": Out(64),
                "encoded_bytes": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        built, passes = self._configuration, ENCODER.passes or ()
        m.submodules.choice = choice = Choice(
            [passes, (EncoderOpcode.TABLE,), (EncoderOpcode.READ,)]
        )
        m.submodules.tensor_pass = tensor_pass = self._tensor_pass
        m.submodules.table = table = TableCommands()
        m.submodules.reads = reads = ReadCommands(built)
        m.submodules.unit = unit = EncoderPass(built.lanes)
        connect(m, choice.handler, flipped(self.handler))
        connect(m, choice.inner[0], tensor_pass.handler)
        connect(m, choice.inner[1], table.handler)
        connect(m, choice.inner[2], reads.handler)

        connect(m, tensor_pass.tensor, flipped(self.tensor))
        connect(m, tensor_pass.o_begin, unit.i_begin)
        connect(m, tensor_pass.o, unit.i)
        connect(m, unit.o, tensor_pass.i)
        connect(m, table.o, unit.i_code)
        connect(m, reads.o, unit.i_read)
        connect(m, unit.o_read, reads.i)
        connect(m, unit.o_data, flipped(self.o_data))
        m.d.comb += [
            choice.hold.eq(tensor_pass.abandons),
            tensor_pass.refusal.eq(unit.refusal),
            tensor_pass.moves.eq(unit.o_data.valid & unit.o_data.ready),
            unit.ends.eq(tensor_pass.ends),
            unit.given_up.eq(tensor_pass.tensor.end & ~tensor_pass.ended),
            unit.slots.eq(table.slots),
            table.busy.eq(tensor_pass.active),
            reads.size.eq(unit.size),
        ]
        with m.If(tensor_pass.ended):
            m.d.sync += [
                self.encoded.eq(self.encoded + unit.o.p.count),
                self.encoded_bytes.eq(self.encoded_bytes + unit.o.p.length),
            ]
        return m
