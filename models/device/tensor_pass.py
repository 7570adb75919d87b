"""Passes over tensors, for any unit: the twin of ``hdl/tensor_input/tensor_pass.py``."""

from collections.abc import Mapping

import torch

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units import Unit

from .refusal import Refusal
from .tensor_input import TensorInputModel
from .unit_model import UnitModel

__all__ = ["TensorPassModel"]


class TensorPassModel(UnitModel):
    """A unit that takes a tensor between the two requests of its passes.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`UnitModel`.
    unit : Unit
        Its descriptor.

    Attributes
    ----------
    begun : dict of str to int or None
        Fields of the record that has begun the pass which is under way.
    totals : dict of str to int
        Registers that sum a field of its records, by name.
    """

    def __init__(
        self, configuration: Configuration, tensor_input: TensorInputModel, unit: Unit
    ) -> None:
        super().__init__(configuration, tensor_input)
        self._begins, self._ends = unit.begin.request.record, unit.end.reply.record
        self._summed = {own.name: own.sums for own in unit.registers if own.sums}
        self.totals = dict.fromkeys(self._summed, 0)
        self.begun: dict[str, int] | None = None
        self.operations = {unit.begin.opcode: self._begin, unit.end.opcode: self._end}

    def registers(self) -> dict[str, int]:
        return dict(self.totals)

    def check(self, begin: dict[str, int]) -> None:
        """Refuse a record that begins a pass which this unit cannot do."""

    def result(self, begin: dict[str, int], tensor: torch.Tensor) -> bytes:
        """The record of a pass that has ended."""
        raise NotImplementedError

    def add(self, fields: Mapping[str, int]) -> None:
        """Let registers that sum a field of records take in one, given by its fields."""
        for name, field in self._summed.items():
            self.totals[name] += fields[field]

    def hello(self) -> None:
        self.begun = None

    def _begin(self, payload: bytes) -> bytes:
        begin = unpack(self._begins, payload)
        self.tensor_input.check_free()
        self.tensor_input.check(begin)
        self.check(begin)
        self.tensor_input.begin(begin)
        self.begun = begin
        return b""

    def _end(self, payload: bytes) -> bytes:
        begin, self.begun = self.begun, None
        if begin is None:
            raise Refusal(Status.NOT_STARTED)
        record = self.result(begin, self.tensor_input.end())
        self.add(unpack(self._ends, record))
        return record
