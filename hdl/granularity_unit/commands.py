"""Requests for the granularity unit: bring operands, multiply them, scale what comes of it."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.choice import Choice
from adagrain.hdl.tensor_input import Beat, TensorPort
from adagrain.hdl.tensor_input.tensor_pass import TensorPass
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.granularity_unit import GRANULARITY_UNIT, TileOpcode

from . import GranularityUnit
from .loader import Loader
from .operands import check_slices
from .run_commands import RunCommands

__all__ = ["TileCommands"]


class TileCommands(wiring.Component):
    """Handler of group 3, with the granularity unit.

    Operands come through the tensor input, those of slices while a run reads others.

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
        Results of runs that send them out of the data port.
    settled : ``Out(1)``
        No results are under way.
    tile_words : ``Out(32)``
        As that of :class:`RunCommands`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        check_slices(configuration.slices)
        self._configuration = configuration
        others = (TileOpcode.RUN, TileOpcode.SCALES, TileOpcode.SETTLE)
        self._choice = Choice([GRANULARITY_UNIT.passes or (), others])
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "tensor": Out(TensorPort(configuration.lanes)),
                "o_data": Out(stream.Signature(Beat)),
                "settled": Out(1, init=1),
                "tile_words": Out(32),
            }
        )

    @property
    def opcodes(self) -> tuple[int, ...]:
        """Those of its operations."""
        return self._choice.opcodes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        built = self._configuration
        m.submodules.choice = choice = self._choice
        m.submodules.tensor_pass = tensor_pass = TensorPass(built, GRANULARITY_UNIT)
        m.submodules.runs = runs = RunCommands(built)
        m.submodules.loader = loader = Loader(built.lanes, built.slices, built.operands)
        m.submodules.unit = unit = GranularityUnit(built.slices, built.operands, built.precisions)
        connect(m, choice.handler, flipped(self.handler))
        connect(m, choice.inner[0], tensor_pass.handler)
        connect(m, choice.inner[1], runs.handler)

        connect(m, tensor_pass.tensor, flipped(self.tensor))
        connect(m, tensor_pass.o_begin, loader.i_begin)
        connect(m, tensor_pass.o, loader.i)
        connect(m, loader.o, tensor_pass.i)
        connect(m, loader.o_words, unit.i_words)

        connect(m, runs.o, unit.i)
        connect(m, unit.o, runs.i)
        connect(m, unit.o_data, flipped(self.o_data))
        moves = unit.multiplies | loader.busy & loader.o_words.ready
        m.d.comb += [
            choice.hold.eq(tensor_pass.abandons),
            tensor_pass.refusal.eq(loader.refusal),
            tensor_pass.moves.eq(moves),
            loader.given_up.eq(tensor_pass.gives_up),
            *[own.eq(given) for own, given in zip(unit.exponents, runs.exponents, strict=True)],
            unit.forget.eq(runs.forget),
            runs.loads.eq(tensor_pass.active),
            runs.clears.eq(loader.busy),
            runs.moves.eq(moves),
            runs.settled.eq(unit.settled),
            self.settled.eq(unit.settled),
            runs.kept.eq(unit.kept),
            self.tile_words.eq(runs.tile_words),
        ]
        return m
