"""Mutants of our models of FPGAs' cells."""

from .mutant import Mutant, proved

__all__ = ["MUTANTS"]

_BLOCK_RAM = "sim/cells/ecp5/DP16KD.v"

MUTANTS = (
    Mutant(
        "a block RAM's reset does not block its write",
        _BLOCK_RAM,
        "if (CEA & WEA & ~RSTA) begin",
        "if (CEA & WEA) begin",
        proved("block_ram"),
    ),
    Mutant(
        "a block RAM's reset clears one half of its widest word",
        _BLOCK_RAM,
        "                    doa <= 0;\n                    dob <= 0;\n",
        "                    dob <= 0;\n",
        proved("block_ram"),
    ),
    Mutant(
        "a block RAM's reset waits for the enable",
        _BLOCK_RAM,
        "if (RSTA)",
        "if (RSTA & CEA)",
        proved("block_ram"),
    ),
)
