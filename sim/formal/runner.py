"""Runs SymbiYosys on proofs."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil

from adagrain.hdl.flow.tools import find
from adagrain.sim.simulators.netlist import CELLS, models_of

from .answer import AnswerProof
from .arbitration import ArbitrationProof
from .bit_packer import BitPackerProof, BuiltBitPackerProof
from .bit_unpacker import BitUnpackerProof, BuiltBitUnpackerProof
from .cells import BlockRamProof, Ecp5ProductsProof, Ice40ProductsProof, MultiplierProof
from .framing import CobsProof, PacketQueueProof
from .harness import Proof
from .packers import DownsizerProof, SerialProof, UnpackerProof
from .queue import QueueProof, SingleProof
from .receiver import ReceiverProof
from .results import ResultsProof
from .skid import SkidProof
from .spill_register import SpillProof, SpillRegisterProof
from .watchdog import WatchdogProof

__all__ = ["PROOFS", "Found", "Holds", "prove"]

PROOFS: Mapping[str, type[Proof]] = {
    "queue": QueueProof,
    "single": SingleProof,
    "skid": SkidProof,
    "spill_register": SpillRegisterProof,
    "spill": SpillProof,
    "packet_queue": PacketQueueProof,
    "cobs": CobsProof,
    "downsizer": DownsizerProof,
    "serial": SerialProof,
    "unpacker": UnpackerProof,
    "bit_packer": BitPackerProof,
    "bit_packer_built": BuiltBitPackerProof,
    "bit_unpacker": BitUnpackerProof,
    "bit_unpacker_built": BuiltBitUnpackerProof,
    "receiver": ReceiverProof,
    "watchdog": WatchdogProof,
    "answer": AnswerProof,
    "arbitration": ArbitrationProof,
    "results": ResultsProof,
    "multiplier": MultiplierProof,
    "products_ecp5": Ecp5ProductsProof,
    "products_ice40": Ice40ProductsProof,
    "block_ram": BlockRamProof,
}

#: Bits of the largest memory in a cell.
_BLOCK_RAM = 1024 * 18

_TASKS = """[options]
mode {mode}
depth {depth}
[engines]
smtbmc z3
[script]
{script}
[files]
dut.il
{cells}
"""

_UNIT = """read_rtlil dut.il
prep {flatten} -top dut
memory_map
opt -full"""

#: Memories stay what they are, and their first content is unknown.
_CELLS = """read_rtlil dut.il
read_verilog {names}
prep -flatten -top dut
memory_share
setparam -set INIT {bits}'bx t:$mem_v2
opt -full"""


def _cells(files: list[Path]) -> str:
    names = " ".join(file.name for file in files)
    return _CELLS.format(names=names, bits=_BLOCK_RAM)


def _programs() -> list[str]:
    """Options that tell SymbiYosys which programs to call."""
    named = {"--yosys": "YOSYS", "--smtbmc": "SMTBMC", "--witness": "WITNESS"}
    return [word for option, name in named.items() for word in (option, find(name))]


@dataclass(frozen=True)
class Holds:
    """All assertions hold for so many cycles, and all covers are reached.

    Parameters
    ----------
    depth : int or None
        Cycles from reset; ``None`` for all time.
    """

    depth: int | None


@dataclass(frozen=True)
class Found:
    """An assertion can fail, or is not proved; or a cover is not reached: what the prover said."""

    mode: str
    said: str


def prove(name: str) -> Holds | Found:
    """Prove one of :data:`PROOFS`.

    Raises
    ------
    ValueError
        If there is no such proof.
    ToolError
        If a program is missing.
    """
    if name not in PROOFS:
        raise ValueError(f"proof must be one of {', '.join(PROOFS)}, not {name!r}")
    for proof in PROOFS[name].variants():
        found = _prove(proof)
        if found is not None:
            return found
    return Holds(None if PROOFS[name].INDUCTION else PROOFS[name].DEPTH)


def _prove(proof: Proof) -> Found | None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "dut.il").write_text(rtlil.convert(proof, name="dut", emit_src=False))
        for mode, depth in _modes(proof):
            said = _run(folder, mode, depth, proof)
            if said is not None:
                return Found(mode, said)
    return None


def _modes(proof: Proof) -> tuple[tuple[str, int], ...]:
    """Modes of SymbiYosys for a proof, and how deep."""
    holds = ("prove", proof.INDUCTION) if proof.INDUCTION else ("bmc", proof.DEPTH)
    return holds, ("cover", proof.DEPTH)


def _models(family: str) -> list[Path]:
    """Our models of a family's cells, or Yosys' where we have none."""
    return sorted((CELLS / family).glob("*.v")) or models_of(family)


def _run(folder: Path, mode: str, depth: int, proof: Proof) -> str | None:
    """The prover's words where it did not succeed."""
    cells = _models(proof.CELLS) if proof.CELLS else []
    tasks = _TASKS.format(
        mode=mode,
        depth=depth,
        script=_cells(cells) if cells else _UNIT.format(flatten="-flatten" if proof.FLAT else ""),
        cells="\n".join(map(str, cells)),
    )
    (folder / f"{mode}.sby").write_text(tasks)
    beside_python = str(Path(sys.executable).parent)
    outcome = subprocess.run(
        [find("SBY"), *_programs(), "-f", f"{mode}.sby"],
        cwd=folder,
        env=os.environ | {"PATH": f"{beside_python}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return None if outcome.returncode == 0 else outcome.stdout
