"""Runs SymbiYosys on proofs."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil

from adagrain.hdl.toolchain.tools import find

from .arbitration import ArbitrationProof
from .framing import CobsProof, PacketQueueProof
from .harness import Proof
from .packers import NarrowProof, SerialProof, WidenProof
from .queue import QueueProof, SkidProof
from .receiver import ReceiverProof

__all__ = ["PROOFS", "Found", "Holds", "prove"]

PROOFS: Mapping[str, type[Proof]] = {
    "queue": QueueProof,
    "skid": SkidProof,
    "packet_queue": PacketQueueProof,
    "cobs": CobsProof,
    "narrow": NarrowProof,
    "serial": SerialProof,
    "widen": WidenProof,
    "receiver": ReceiverProof,
    "arbitration": ArbitrationProof,
}

_TASKS = """[options]
mode {mode}
depth {depth}
[engines]
smtbmc z3
[script]
read_rtlil dut.il
prep -top dut
memory_map
opt -full
[files]
dut.il
"""


def _programs() -> list[str]:
    """Options that tell SymbiYosys which programs to call."""
    named = {"--yosys": "YOSYS", "--smtbmc": "SMTBMC", "--witness": "WITNESS"}
    return [word for option, name in named.items() for word in (option, find(name))]


@dataclass(frozen=True)
class Holds:
    """All assertions hold for so many cycles, and all covers are reached."""

    depth: int


@dataclass(frozen=True)
class Found:
    """An assertion can fail, or a cover cannot be reached: what the prover said."""

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
    proof = PROOFS[name]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with proof.surroundings():
            (folder / "dut.il").write_text(rtlil.convert(proof, name="dut", emit_src=False))
        for mode in ("bmc", "cover"):
            said = _run(folder, mode, proof.DEPTH)
            if said is not None:
                return Found(mode, said)
    return Holds(proof.DEPTH)


def _run(folder: Path, mode: str, depth: int) -> str | None:
    """What the prover said where it did not succeed."""
    (folder / f"{mode}.sby").write_text(_TASKS.format(mode=mode, depth=depth))
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
