"""Passes over tensors, for any unit: the twin of ``hdl/tensor_input/tensor_pass.py``."""

import enum

import torch

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units import operation_of

from .refusal import Refusal
from .tensor_input import TensorInputModel
from .unit_model import UnitModel

__all__ = ["TensorPassModel"]


class TensorPassModel(UnitModel):
    """A unit that takes a tensor between a request that begins a pass, and one that ends it.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`UnitModel`.
    begin, end : IntEnum
        Opcodes of the two requests.
    """

    def __init__(
        self,
        configuration: Configuration,
        tensor_input: TensorInputModel,
        begin: enum.IntEnum,
        end: enum.IntEnum,
    ) -> None:
        super().__init__(configuration, tensor_input)
        operation = operation_of(begin)
        assert operation is not None and operation.request.head is not None
        self._layout = operation.request.head
        self.begun: dict[str, int] | None = None
        self.operations = {begin: self._begin, end: self._end}

    def check(self, begin: dict[str, int]) -> None:
        """Refuse a record that begins a pass which this unit cannot do."""

    def result(self, begin: dict[str, int], tensor: torch.Tensor) -> bytes:
        """The record of a pass that has ended."""
        raise NotImplementedError

    def hello(self) -> None:
        self.begun = None

    def _begin(self, payload: bytes) -> bytes:
        begin = unpack(self._layout, payload)
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
        return self.result(begin, self.tensor_input.end())
