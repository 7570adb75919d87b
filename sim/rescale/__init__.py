"""Variants of the units that rescale and pack results, on which their bench runs."""

from adagrain.hdl.rescale import Packer, Rescale

VARIANTS = {"numbers": Rescale, "rows": Packer}
ICARUS_VARIANTS = ("numbers", "rows")
