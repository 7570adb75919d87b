"""The unit's golden model."""

import torch

from adagrain.models.device.refusal import require
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.device.tensor_pass import TensorPassModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack

from .descriptor import LARGE, LargeRecord

__all__ = ["LargeModel", "large"]


def large(x: torch.Tensor, threshold: int) -> int:
    """Number of FP32 elements whose magnitude is not below a positive FP32 word."""
    return int((x.view(torch.int32) & 0x7FFF_FFFF).ge(threshold).sum())


class LargeModel(TensorPassModel):
    """Golden model of :class:`own_unit.gateware.Large` behind a device's requests."""

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input, LARGE)

    def check(self, begin: dict[str, int]) -> None:
        require(begin["threshold"] >> 31 == 0, Status.BAD_VALUE)

    def result(self, begin: dict[str, int], tensor: torch.Tensor) -> bytes:
        found = large(tensor.float(), begin["threshold"])
        return pack(LargeRecord, count=tensor.numel(), large=found)
