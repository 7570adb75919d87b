"""Input of tensors: by a device's data port or by its link, to whichever unit takes them."""

from .port import TensorPort
from .tensor_input import Beat, TensorInput
from .unpacker import Unpacker

__all__ = ["Beat", "TensorInput", "TensorPort", "Unpacker"]
