"""Names of each FPGA family's cells."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FAMILIES", "Family"]

#: A field of a signal ``x`` is a wire ``x[1]`` in what Amaranth writes, and bit 1 of ``x`` is an
#: ``x[1]`` between Yosys and ABC, where what bears one name becomes one net (YosysHQ/yosys
#: issue 4349). Names of fields are dropped before.
_DROP_FIELDS = "rename -hide w:*]"


@dataclass(frozen=True, kw_only=True)
class Family:
    """Tools of a family, and its cells that the reports of Yosys and nextpnr count.

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
    product : str
        Name of the file that the board is loaded with.
    place : tuple of str or None
        Program that places and routes, and its options where no board says which pins there are;
        ``None``: it needs a board.
    models : str or None
        Simulation models of the cells, in Yosys' folder of shared files.
    before, after : str
        Yosys commands around synthesis.
    """

    synthesis: str
    options: str
    mapped: Mapping[str, tuple[tuple[str, int], ...]]
    placed: Mapping[str, tuple[str, ...]]
    product: str
    place: tuple[str, ...] | None = None
    models: str | None = None
    before: str = _DROP_FIELDS
    after: str = ""

    def used(self, cells: Mapping[str, int]) -> dict[str, int]:
        """Resources that so many mapped cells of each type use."""
        return {
            resource: sum(
                weight * number
                for pattern, weight in patterns
                for cell, number in cells.items()
                if re.fullmatch(pattern, cell)
            )
            for resource, patterns in self.mapped.items()
        }

    def script(self, top: str) -> str:
        """Yosys commands that synthesise what was read."""
        synthesis = f"{self.synthesis} -top {top} {self.options}"
        return "; ".join(filter(None, (self.before, synthesis, self.after)))


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
        product="top.bit",
        place=("NEXTPNR_ECP5", "--lpf-allow-unconstrained"),
        models="lattice/cells_sim_ecp5.v",
    ),
    "ice40": Family(
        synthesis="synth_ice40",
        options="-dsp -abc9 -device u",
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
        product="top.bin",
        place=("NEXTPNR_ICE40", "--pcf-allow-unconstrained"),
        models="ice40/cells_sim.v",
        # `ice40_dsp` makes a product of 16 bits without a clock of every SB_MAC16 that it finds,
        # also of one that is two products of 8 bits (YosysHQ/yosys issue 2922): it must not.
        before=f"{_DROP_FIELDS}; read_verilog -lib +/ice40/cells_sim.v; "
        "rename SB_MAC16 HIDDEN_MAC16; chtype -set HIDDEN_MAC16 t:SB_MAC16",
        after="chtype -set SB_MAC16 t:HIDDEN_MAC16",
    ),
    "gowin": Family(
        synthesis="synth_gowin",
        options="",
        mapped={
            "LUT": ((r"LUT[1-4]|ALU", 1), (r"RAM16\w*", 4)),
            "FF": ((r"DFF\w*", 1),),
            "DSP": ((r"MULT\w*", 1),),
            "block RAM": ((r"[A-Z]*DPX?\w*|SPX?\w*", 1),),
        },
        placed={
            "LUT": ("LUT4", "ALU"),
            "FF": ("DFF",),
            "DSP": ("MULT9X9", "MULT18X18"),
            "block RAM": ("BSRAM",),
        },
        product="top.fs",
        models="gowin/cells_sim.v",
    ),
}
