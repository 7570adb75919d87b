"""The handler of a unit that does nothing but passes over tensors."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.driven import elaborated
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.unit import load

from .port import TensorPort
from .tensor_pass import TensorPass

__all__ = ["PassCommands"]


class PassCommands(wiring.Component):
    """Handler of any unit whose descriptor names its core and the two requests of its passes.

    The core is made with the lanes of the device. It has the streams ``i_begin``, ``i`` and ``o``,
    as :class:`TensorPass` has their other ends, and may have ``refusal``. Registers that sum a
    field of its records are kept here; it drives the others.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    unit : Unit
        The unit.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    tensor : ``Out(TensorPort(lanes))``
        The tensor input.
    ... : ``Out(bits)``
        Registers of the unit, by name.

    Raises
    ------
    TypeError, ValueError
        If the descriptor names no core or no passes, or the core does not drive a register.
    """

    def __init__(self, configuration: Configuration, unit: Unit) -> None:
        check_kind("configuration", configuration, Configuration)
        check_kind("unit", unit, Unit)
        if not unit.core:
            raise ValueError(f"unit {unit.name!r} must name the core that takes its tensors")
        self._configuration, self._unit = configuration, unit
        self._core = load(unit, unit.core)(configuration.lanes)
        self._tensor_pass = TensorPass(configuration, unit)
        self._registers = [own for own in unit.registers if own.constant is None]
        for register in self._registers:
            if not register.sums and register.name not in self._core.signature.members:
                raise ValueError(
                    f"register {register.name!r} of unit {unit.name!r} must be an output of "
                    f"{type(self._core).__name__}, which has none of that name"
                )
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "tensor": Out(TensorPort(configuration.lanes)),
                **{register.name: Out(register.bits) for register in self._registers},
            }
        )

    @property
    def opcodes(self) -> tuple[int, ...]:
        """Those of its operations."""
        return self._tensor_pass.opcodes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tensor_pass = tensor_pass = self._tensor_pass
        core = self._core
        m.submodules.core = elaborated(core, self._unit, platform)
        connect(m, flipped(self.handler), tensor_pass.handler)
        connect(m, tensor_pass.tensor, flipped(self.tensor))
        connect(m, tensor_pass.o_begin, core.i_begin)
        connect(m, tensor_pass.o, core.i)
        connect(m, core.o, tensor_pass.i)
        if "refusal" in core.signature.members:
            m.d.comb += tensor_pass.refusal.eq(core.refusal)
        for register in self._registers:
            value = getattr(self, register.name)
            if not register.sums:
                m.d.comb += value.eq(getattr(core, register.name))
                continue
            with m.If(tensor_pass.ended):
                m.d.sync += value.eq(value + core.o.payload[register.sums])
        return m
