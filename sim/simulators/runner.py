"""Builds a unit's variants for a simulator and runs its cocotb bench on them.

A unit is a package ``adagrain.sim.benches.<unit>`` with ``VARIANTS``, a dict from a variant's name
to a callable that makes the component, and a module ``bench`` with the cocotb tests. Variants are
run on Verilator; those listed in ``ICARUS_VARIANTS`` (none, where there is no such list) also on
Icarus Verilog, which is some ten times slower.
"""

import importlib
import os
import random
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import cocotb
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner
from filelock import FileLock

from adagrain.models.interface.units import UNITS

from . import verilator
from .runtime import Runtime
from .verilog import digest, emit

__all__ = ["SIMULATORS", "BenchError", "Outcome", "missing", "run", "units", "variants"]

Simulator = Literal["verilator", "icarus"]
SIMULATORS: tuple[Simulator, ...] = ("verilator", "icarus")
BENCHES = Path(__file__).parents[1] / "benches"
BUILD = Path("build/sim")
#: The Verilog top level. Not the unit's name: a program called `queue` would hide `<queue>`.
TOP = "dut"

#: cocotb asks for access to every signal, which makes builds slow; benches use the ports.
_PORTS_ONLY = ("--no-public-flat-rw", "--public-depth", "1")

#: Files whose assertions are explained. cocotb would have those of all modules that are imported,
#: PyTorch's too, which takes longer than most benches.
_EXPLAINED = "*bench.py"


class BenchError(Exception):
    """A bench failed; the message names its log, its waves and the line that runs it again."""


@dataclass(frozen=True)
class Outcome:
    """A bench that passed.

    Parameters
    ----------
    tests : int
        cocotb tests that ran.
    seed : int
        The seed of their random numbers.
    waves : Path or None
        The file of waves, if asked for.
    """

    tests: int
    seed: int
    waves: Path | None


def units() -> list[str]:
    """Names of all units that have a bench."""
    return sorted(_packages())


def variants(unit: str, simulator: Simulator = "verilator") -> list[str]:
    """Names of a unit's variants that run on a simulator.

    Raises
    ------
    ValueError
        If there is no such unit.
    """
    package = _package(unit)
    return list(package.VARIANTS if simulator == "verilator" else _icarus_variants(package))


def missing(simulator: Simulator) -> str | None:
    """Reason why a simulator can't run here, or ``None``."""
    if simulator == "icarus":
        present = shutil.which("iverilog")
        return None if present else "Icarus is not installed (apt-get install iverilog)"
    try:
        verilator.require()
    except verilator.ToolMissingError as error:
        return str(error)
    return None


def run(
    unit: str,
    variant: str,
    simulator: Simulator = "verilator",
    *,
    waves: bool = False,
    seed: int | None = None,
    bench: str | None = None,
    netlist: str | None = None,
    environment: Mapping[str, str] | None = None,
    share: float = 1,
) -> Outcome:
    """Build one variant, if it changed since the last time, and run the unit's bench on it.

    Parameters
    ----------
    seed : int or None
        Seed of all random numbers; by default a new one.
    bench : str or None
        Module of cocotb tests to run instead of the unit's own.
    netlist : str or None
        FPGA family: test what synthesis for it makes of the unit; on Verilator only.
    environment : mapping or None
        Variables that the bench reads.
    share : float
        Of the cases that are run otherwise.

    Raises
    ------
    ValueError
        If there is no such unit, variant or simulator.
    BenchError
        If a test failed, none ran, or the simulator broke down.
    verilator.ToolMissingError
        If the simulator is not installed.
    ToolError
        If Yosys cannot make the netlist.
    CacheError
        If the cache of compiled units cannot be written.
    """
    build = _Build(unit, variant, simulator, waves, netlist)
    seed = random.SystemRandom().getrandbits(31) if seed is None else seed
    surroundings = verilator.patched_environment() if simulator == "verilator" else nullcontext()
    build.directory.mkdir(parents=True, exist_ok=True)
    with FileLock(build.directory / "lock"), surroundings:
        build.make()
        module = bench or f"{_packages()[unit]}.bench"
        return build.test(seed, module, environment or {}, share)


class _Build:
    """One variant for one simulator, with its own directory."""

    def __init__(
        self, unit: str, variant: str, simulator: Simulator, waves: bool, netlist: str | None
    ) -> None:
        if simulator not in SIMULATORS:
            raise ValueError(f"simulator must be {' or '.join(SIMULATORS)}, not {simulator!r}")
        package = _package(unit)
        if variant not in package.VARIANTS:
            known = ", ".join(package.VARIANTS)
            raise ValueError(f"variant of {unit} must be one of {known}, not {variant!r}")
        if netlist and simulator != "verilator":
            raise ValueError(f"simulator must be verilator for a netlist, not {simulator!r}")
        if reason := missing(simulator):
            raise verilator.ToolMissingError(reason)
        self._unit, self._variant, self._simulator = unit, variant, simulator
        self._component = package.VARIANTS[variant]
        self._waves = _waves_name(simulator) if waves else None
        self._netlist = netlist
        kind = "-".join(filter(None, (simulator, netlist, "waves" if waves else None)))
        self.directory = (BUILD / unit / variant / kind).resolve()
        self._runner: Any = get_runner(simulator)

    def make(self) -> None:
        source = emit(self._component(), TOP, self.directory, self._netlist)
        stamp = self.directory / "stamp"
        arguments = self._build_arguments()
        recipe = (*arguments, self._waves or "no waves", cocotb.__version__, verilator.version())
        contents = digest(source.read_text(), *recipe)
        if stamp.exists() and stamp.read_text() == contents:
            return
        stamp.unlink(missing_ok=True)  # a build that is killed may leave another executable
        log = self.directory / "build.log"
        lent: AbstractContextManager[list[str]] = nullcontext([])
        if self._simulator == "verilator":
            lent = Runtime(*recipe).lent(self.directory)
        try:
            with lent as more:
                self._runner.build(
                    sources=[source],
                    hdl_toplevel=TOP,
                    always=True,
                    build_dir=self.directory,
                    build_args=[*arguments, *more],
                    waves=self._waves is not None,
                    log_file=log,
                )
        except (SystemExit, Exception) as error:
            raise BenchError(f"{self._title} could not be built: {error}; see {log}") from error
        stamp.write_text(contents)

    def test(self, seed: int, bench: str, environment: Mapping[str, str], share: float) -> Outcome:
        log = self.directory / "test.log"
        results = self.directory / "results.xml"
        with suppress(SystemExit, RuntimeError):  # the results tell
            self._runner.test(
                test_module=bench,
                hdl_toplevel=TOP,
                hdl_toplevel_lang="verilog",
                build_dir=self.directory,
                seed=seed,
                extra_env={
                    **environment,
                    "ADAGRAIN_UNIT": _package(self._unit).__name__,
                    "ADAGRAIN_VARIANT": self._variant,
                    "ADAGRAIN_SWEEP": str(share * self._sweep()),
                    "COCOTB_REWRITE_ASSERTION_FILES": _EXPLAINED,
                },
                results_xml=str(results),
                waves=self._waves is not None,
                log_file=log,
            )
        return self._outcome(seed, results, log)

    def _sweep(self) -> float:
        """Number of cases that are run of each that a bench asks for: few where they take long."""
        if self._netlist:
            return 1
        full = 3 if os.environ.get("ADAGRAIN_FULL") == "1" else 1
        return full / 10 if self._simulator == "icarus" else full

    def _outcome(self, seed: int, results: Path, log: Path) -> Outcome:
        try:
            tests, failed = get_results(results)
        except RuntimeError:
            raise BenchError(self._report("simulator broke down", seed, log)) from None
        if failed or not tests:
            problem = f"{failed} of {tests} tests failed" if tests else "no test ran"
            raise BenchError(self._report(problem, seed, log))
        waves = self.directory / self._waves if self._waves else None
        return Outcome(tests, seed, waves)

    def _report(self, problem: str, seed: int, log: Path) -> str:
        waves = f"waves: {self.directory / self._waves}\n" if self._waves else ""
        netlist = f"NETLIST={self._netlist} " if self._netlist else ""
        return (
            f"{self._title}: {problem}\n{log.read_text()}\nlog: {log}\n{waves}"
            f"again, with waves: make sim UNIT={self._unit} VARIANT={self._variant} "
            f"SIM={self._simulator} {netlist}SEED={seed} WAVES=1"
        )

    @property
    def _title(self) -> str:
        level = f"netlist for {self._netlist}, " if self._netlist else ""
        return f"{self._unit} ({self._variant}, {level}{self._simulator})"

    def _build_arguments(self) -> list[str]:
        if self._simulator == "icarus":
            return []
        fst = ["--trace-fst"] if self._waves == "dump.fst" else []
        return ["-Wno-fatal", "-Wno-lint", *_PORTS_ONLY, *fst]


def _waves_name(simulator: Simulator) -> str:
    return f"{TOP}.fst" if simulator == "icarus" else f"dump.{verilator.waves_format()}"


def _packages() -> dict[str, str]:
    """Names of the packages of benches, by unit."""
    own = (bench.parent.name for bench in BENCHES.glob("*/bench.py"))
    foreign = {unit.name: unit.bench for unit in UNITS.values() if unit.bench}
    return {name: f"adagrain.sim.benches.{name}" for name in own} | foreign


def _package(unit: str) -> ModuleType:
    if unit not in units():
        raise ValueError(f"unit must be one of {', '.join(units())}, not {unit!r}")
    return importlib.import_module(_packages()[unit])


def _icarus_variants(package: ModuleType) -> tuple[str, ...]:
    return getattr(package, "ICARUS_VARIANTS", ())
