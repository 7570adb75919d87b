"""A unit that the project does not know: with nothing changed, it answers everywhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adagrain.sim.simulators import runner

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def ended(
    *command: str, units: str = "own_unit", folder: Path | str | None = None
) -> subprocess.CompletedProcess[str]:
    """A command that knows the unit, when it has ended."""
    path = os.pathsep.join(map(str, (folder or EXAMPLES, ROOT)))
    surroundings = os.environ | {"ADAGRAIN_UNITS": units, "PYTHONPATH": path, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *command],
        env=surroundings,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def run(*command: str, units: str = "own_unit", folder: Path | str | None = None) -> str:
    """The output of a command that knows the unit."""
    done = ended(*command, units=units, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def counted(url: str) -> str:
    """Backend and result of the example on a device."""
    return run("examples/own_unit/use.py", url)


def test_on_golden_models_and_on_rtl_alike() -> None:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    golden, rtl = counted("golden:"), counted("sim:")
    assert golden.startswith("golden model") and rtl.startswith("RTL")
    assert golden.partition(": ")[2].split(":")[-1] == rtl.partition(": ")[2].split(":")[-1]
    assert "of 1000 elements are 1 or more" in rtl


def test_the_example_without_a_device() -> None:
    done = ended("examples/own_unit/use.py")
    assert done.returncode == 1 and done.stderr.startswith("usage: python examples/own_unit/use.py")


def test_the_example_where_nobody_has_declared_the_unit() -> None:
    done = ended("examples/own_unit/use.py", "golden:", units="")
    assert done.returncode == 1
    assert "or of a module that ADAGRAIN_UNITS names, not 'large'" in done.stderr


def test_on_cocotb() -> None:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    assert "1 tests passed" in run("-m", "adagrain.sim", "large", "--variant", "four_lanes")


@pytest.mark.parametrize("variant", ["one_lane", "four_lanes"])
def test_alone_as_compiled_rtl(variant: str, seed: int) -> None:
    """The stimulus of its bench, on the unit alone."""
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    script = (
        "import random, own_unit\n"
        "from own_unit.traffic import random_passes\n"
        "from adagrain.sim.compiled import CompiledUnit, check_silence, demand\n"
        f"component, generator = own_unit.VARIANTS['{variant}'](), random.Random({seed})\n"
        "with CompiledUnit(component, 'large') as unit:\n"
        f"    passes = [random_passes(component, 20, generator) for _ in range(5)]\n"
        f"    demand(unit, passes, seed={seed})\n"
        "    check_silence(unit, 'o')\n"
        "print('equal')"
    )
    assert run("-c", script) == "equal\n"


@pytest.mark.full
def test_on_the_netlist() -> None:
    said = run("-m", "adagrain.sim", "large", "--variant", "one_lane", "--netlist", "ecp5")
    assert "1 tests passed" in said


SELF_TEST = """
import adagrain
from adagrain.models.interface.configuration import configuration

built = configuration("tiny", units=("statistics", "large"))
with adagrain.open_device("golden:", built) as device:
    print(*(check.name for check in device.selftest().checks if check.passed))
"""


def test_its_self_test() -> None:
    assert "large of FP32 large of BF16" in run("-c", SELF_TEST)


def test_it_is_synthesised() -> None:
    assert "large on ulx3s" in run("-m", "adagrain.host.cli.app", "synth", "large")


#: A unit that has a handler of its own, though that does no more than the example's core.
HANDLED = """
import enum
from dataclasses import replace

from adagrain.models.interface.units import declare
from own_unit import LARGE


class Opcode(enum.IntEnum):
    BEGIN = 0xB0
    END = 0xB1


CORE = replace(
    LARGE,
    name="handled",
    group=0xB,
    operations=tuple(
        replace(own, opcode=opcode) for own, opcode in zip(LARGE.operations, Opcode)
    ),
    passes=tuple(Opcode),
    registers=(),
    bench="",
)
UNIT = declare(replace(CORE, core="", gateware="handler:Commands", twin="handler:Model"))
"""
HANDLER = """
from adagrain.hdl.tensor_input.pass_commands import PassCommands
from adagrain.models.device.tensor_pass import TensorPassModel
from handled import CORE, UNIT
from own_unit.twin import LargeModel


class Commands(PassCommands):
    def __init__(self, configuration):
        super().__init__(configuration, CORE)


class Model(LargeModel):
    def __init__(self, configuration, tensor_input):
        TensorPassModel.__init__(self, configuration, tensor_input, UNIT)
"""


def test_a_unit_with_a_handler_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "handled.py").write_text(HANDLED)
    (tmp_path / "handler.py").write_text(HANDLER)
    folder, units = f"{EXAMPLES}{os.pathsep}{tmp_path}", "handled"
    said = run("-m", "adagrain.host.cli.app", "synth", "handled", units=units, folder=folder)
    assert "handled on ulx3s" in said
    script = SELF_TEST.replace("large", "handled")
    assert "handled of FP32 handled of BF16" in run("-c", script, units=units, folder=folder)


@pytest.mark.parametrize("module", ["adagrain.hdl.device", "adagrain.hdl.flow"])
def test_gateware_may_be_imported_before_units_are_declared(module: str) -> None:
    script = (
        f"import {module}, own_unit\n"
        "from adagrain.hdl.device import Coprocessor\n"
        "from adagrain.hdl.flow.units import units\n"
        "from adagrain.models.interface.configuration import configuration\n"
        "Coprocessor(configuration('tiny', units=('statistics', 'large'))).elaborate(None)\n"
        "print('large' in units())"
    )
    assert run("-c", script, units="") == "True\n"


def test_another_gateware_is_another_build(tmp_path: Path) -> None:
    """The cache of compiled devices knows the sources of units from outside."""
    script = (
        "from adagrain.hdl.stream.queue import Queue\n"
        "from adagrain.sim.compiled import library\n"
        "print(library.digest(library._source_code(Queue(8, depth=1))))"
    )
    copy = tmp_path / "own_unit"
    copy.mkdir()
    for file in (EXAMPLES / "own_unit").glob("*.py"):
        (copy / file.name).write_text(file.read_text())
    before = run("-c", script, folder=tmp_path)
    assert before == run("-c", script, folder=tmp_path)
    (copy / "gateware.py").write_text((copy / "gateware.py").read_text() + "# changed\n")
    assert before != run("-c", script, folder=tmp_path)
