"""A region of the golden Region Manager, by itself."""

from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.region_manager import (
    Decision,
    RegionRecord,
    RegionStep,
    RegionUpdate,
)
from adagrain.models.region_manager.table import RegionTable, default_parameters, region_record

__all__ = ["Region"]


class Region:
    """A table of one region, fed field by field."""

    def __init__(self, record: dict[str, int], workers: int = 2, **parameters: int) -> None:
        self.table = RegionTable(1)
        self.table.write(0, region_record(**record))
        self.table.parameters = default_parameters(workers) | parameters

    def update(self, **fields: int) -> dict[str, int]:
        head = {name: fields.pop(name) for name in ("loss", "epoch_end") if name in fields}
        if "loss" in head:
            head["loss_valid"] = 1
        update = {"usable": 1, "decide": 1, "exponent": 120} | fields
        raw = self.table.step(pack(RegionStep, **head), pack(RegionUpdate, **update))
        return unpack(Decision, raw)

    @property
    def record(self) -> dict[str, int]:
        return unpack(RegionRecord, self.table.read(0, 8))
