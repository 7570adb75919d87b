"""Requests for the precision controller: the golden model of its handler."""

from adagrain.models.device.table_model import TableModel
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.precision_controller import PRECISION_CONTROLLER

__all__ = ["PrecisionCommands"]


class PrecisionCommands(TableModel):
    """Golden model of :class:`adagrain.hdl.precision_controller.commands.PrecisionCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`TableModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(PRECISION_CONTROLLER, configuration, tensor_input)
