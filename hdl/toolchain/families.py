"""How each FPGA family names its cells."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FAMILIES", "Family"]


@dataclass(frozen=True, kw_only=True)
class Family:
    """What the reports of Yosys and nextpnr count for a family.

    Parameters
    ----------
    synthesis : str
        Yosys command.
    options : str
        Its options.
    mapped : dict of str to tuples
        Resource → patterns of the cells after technology mapping, and how many each uses.
    placed : dict of str to tuple of str
        Resource → cells after packing.
    """

    synthesis: str
    options: str
    mapped: Mapping[str, tuple[tuple[str, int], ...]]
    placed: Mapping[str, tuple[str, ...]]


FAMILIES: dict[str, Family] = {
    "ecp5": Family(
        synthesis="synth_ecp5",
        options="-abc9",
        mapped={
            "LUT": ((r"LUT4", 1), (r"CCU2C", 2), (r"TRELLIS_DPR16X4", 4)),
            "FF": ((r"TRELLIS_FF", 1),),
            "DSP": ((r"MULT18X18D", 1),),
            "block RAM": ((r"DP16KD|PDPW16KD", 1),),
        },
        placed={
            "LUT": ("TRELLIS_COMB",),
            "FF": ("TRELLIS_FF",),
            "DSP": ("MULT18X18D",),
            "block RAM": ("DP16KD",),
        },
    ),
    "ice40": Family(
        synthesis="synth_ice40",
        options="-dsp -abc9",
        mapped={
            "LUT": ((r"SB_LUT4", 1),),
            "FF": ((r"SB_DFF\w*", 1),),
            "DSP": ((r"SB_MAC16", 1),),
            "block RAM": ((r"SB_RAM40_4K\w*", 1),),
        },
        placed={
            "LUT": ("ICESTORM_LC",),
            "DSP": ("ICESTORM_DSP",),
            "block RAM": ("ICESTORM_RAM",),
        },
    ),
}
