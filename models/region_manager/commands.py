"""Requests for ``region_manager``: the golden model of ``hdl/region_manager/commands.py``."""

from adagrain.models.device.refusal import require
from adagrain.models.device.table_model import TableModel
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units.region_manager import (
    MAX_WORKERS,
    REGION_MANAGER,
    RegionOpcode,
    RegionParameters,
)

__all__ = ["RegionCommands"]


class RegionCommands(TableModel):
    """Golden model of :class:`adagrain.hdl.region_manager.commands.RegionCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`TableModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(REGION_MANAGER, configuration, tensor_input)
        self.operations = {
            **self.operations,
            RegionOpcode.PARAMETERS: self._parameters,
            RegionOpcode.STATE: lambda _: self.table.settings,
        }

    def registers(self) -> dict[str, int]:
        return {"decisions": self.decisions & 0xFFFF_FFFF}

    def _parameters(self, payload: bytes) -> bytes:
        workers = unpack(RegionParameters, payload)["workers"]
        require(1 <= workers <= MAX_WORKERS, Status.BAD_VALUE)
        self._own().settings = payload
        return b""

    def _step(self, payload: bytes) -> bytes:
        require(unpack(RegionParameters, self.table.settings)["workers"] > 0, Status.NO_PARAMETERS)
        return super()._step(payload)
