"""Requests for the precision controller: records, and updates that it decides."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.access_commands import AccessCommands
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.choice import Choice
from adagrain.hdl.handler.step_commands import StepCommands
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.precision_controller import (
    PRECISION_CONTROLLER,
    PrecisionOpcode,
)

from . import PrecisionController

__all__ = ["PrecisionCommands"]


class PrecisionCommands(wiring.Component):
    """Handler of group 4, with the precision controller.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with; it has a record for each region.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._configuration = configuration
        self._choice = Choice(
            [(PrecisionOpcode.WRITE, PrecisionOpcode.READ), (PrecisionOpcode.STEP,)]
        )
        super().__init__({"handler": Out(HandlerSignature())})

    @property
    def opcodes(self) -> tuple[int, ...]:
        """Those of its operations."""
        return self._choice.opcodes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        built = self._configuration
        m.submodules.controller = controller = PrecisionController(built.regions)
        m.submodules.access = access = AccessCommands(built, PRECISION_CONTROLLER)
        m.submodules.step = step = StepCommands(built, PRECISION_CONTROLLER)
        m.submodules.choice = choice = self._choice
        connect(m, flipped(self.handler), choice.handler)
        connect(m, choice.inner[0], access.handler)
        connect(m, choice.inner[1], step.handler)
        connect(m, access.o, controller.i_access)
        connect(m, controller.o_access, access.i)
        connect(m, step.o, controller.i)
        connect(m, controller.o, step.i)
        return m
