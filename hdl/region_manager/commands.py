"""Requests for ``region_manager``: the table, the parameters, and steps."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.access_commands import AccessCommands
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.choice import Choice
from adagrain.hdl.handler.record_commands import RecordCommands
from adagrain.hdl.handler.step_commands import StepCommands
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.region_manager import (
    MAX_WORKERS,
    REGION_MANAGER,
    RegionOpcode,
    RegionParameters,
)

from . import RegionManager

__all__ = ["RegionCommands"]


class RegionCommands(wiring.Component):
    """Handler of group 2, with the Region Manager.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    decisions, decision_cycles : ``Out(32)``
        As in :class:`~adagrain.hdl.region_manager.RegionManager`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._configuration = configuration
        self._choice = Choice(
            [
                (RegionOpcode.WRITE, RegionOpcode.READ),
                (RegionOpcode.PARAMETERS, RegionOpcode.STEP),
                (RegionOpcode.STATE,),
            ]
        )
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "decisions": Out(32),
                "decision_cycles": Out(32),
            }
        )

    @property
    def opcodes(self) -> tuple[int, ...]:
        """Those of its operations."""
        return self._choice.opcodes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        built = self._configuration
        m.submodules.manager = manager = RegionManager(built)
        m.submodules.access = access = AccessCommands(built, REGION_MANAGER)
        m.submodules.step = step = StepCommands(built, REGION_MANAGER)
        m.submodules.state = state = RecordCommands(RegionParameters)
        m.submodules.choice = choice = self._choice
        connect(m, flipped(self.handler), choice.handler)
        connect(m, choice.inner[0], access.handler)
        connect(m, choice.inner[1], step.handler)
        connect(m, choice.inner[2], state.handler)
        connect(m, access.o, manager.i_access)
        connect(m, manager.o_access, access.i)
        connect(m, step.o_head, manager.i_step)
        connect(m, step.o, manager.i)
        connect(m, manager.o, step.i)
        connect(m, step.o_settings, manager.i_parameters)

        workers = step.o_settings.p.workers
        m.d.comb += [
            manager.i_parameters.p["_reserved"].eq(0),
            state.record.eq(manager.parameters),
            self.decisions.eq(manager.decisions),
            self.decision_cycles.eq(manager.decision_cycles),
        ]
        with m.If((workers == 0) | (workers > MAX_WORKERS)):
            m.d.comb += step.settings_refusal.eq(Status.BAD_VALUE)
        with m.If(manager.parameters.workers == 0):
            m.d.comb += step.refusal.eq(Status.NO_PARAMETERS)
        return m
