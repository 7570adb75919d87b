"""How tensors enter a device: by its data port or by its link, to whichever unit takes them."""

from .port import TensorPort
from .tensor_input import Beat, TensorInput
from .unpacker import Unpacker

__all__ = ["Beat", "TensorInput", "TensorPort", "Unpacker"]
