"""Variants of the floating-point units that their bench runs on."""

from adagrain.hdl.arithmetic.float import Adder, Converter, Multiplier
from adagrain.models.interface.formats import FORMATS, FormatCode

_FP16, _FP32 = FORMATS[FormatCode.FP16], FORMATS[FormatCode.FP32]

VARIANTS = {
    "multiply_fp16": lambda: Multiplier(_FP16),
    "multiply_fp32": lambda: Multiplier(_FP32),
    "add_fp16": lambda: Adder(_FP16),
    "add_fp32": lambda: Adder(_FP32),
    "widen": lambda: Converter(_FP16, _FP32),
    "narrow": lambda: Converter(_FP32, _FP16),
}
ICARUS_VARIANTS = ("multiply_fp16", "add_fp16", "narrow")
