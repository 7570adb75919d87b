"""``tensor_input``: how tensors enter a device, whichever unit takes them."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from .operation import Operation, Payload
from .tensor_fields import TENSOR_FIELDS
from .unit import Unit

__all__ = ["BEAT", "TENSOR_FIELDS", "TENSOR_INPUT", "TensorBegin", "TensorOpcode"]

#: Bytes that enter by the data port at once; tensors are zero-padded to whole beats.
BEAT = 16

#: What a unit tells the tensor input.
TensorBegin = data.StructLayout({**TENSOR_FIELDS, "from_link": unsigned(1)})


class TensorOpcode(enum.IntEnum):
    """Operations of the tensor input."""

    DATA = 0xD0


TENSOR_INPUT = Unit(
    name="tensor_input",
    group=0xD,
    about="brings a tensor to the unit whose operation has begun a pass over it",
    of_device=True,
    operations=(
        Operation(
            TensorOpcode.DATA,
            Payload(items=unsigned(8 * BEAT), least=1),
            Payload(),
            "brings the tensor's next bytes, zero-padded to whole beats of 16",
        ),
    ),
)
