"""A unit that the project does not know: with nothing changed, it answers everywhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adagrain.sim.simulators import runner

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def run(*command: str, units: str = "own_unit", folder: Path | None = None) -> str:
    """The output of a command that knows the unit."""
    path = os.pathsep.join(map(str, (folder or EXAMPLES, ROOT)))
    surroundings = os.environ | {"ADAGRAIN_UNITS": units, "PYTHONPATH": path, "COLUMNS": "200"}
    ended = subprocess.run(
        [sys.executable, *command],
        env=surroundings,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


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


def test_on_cocotb() -> None:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    assert "1 tests passed" in run("-m", "adagrain.sim", "large", "--variant", "four_lanes")


@pytest.mark.full
def test_on_the_netlist() -> None:
    said = run("-m", "adagrain.sim", "large", "--variant", "one_lane", "--netlist", "ecp5")
    assert "1 tests passed" in said


def test_its_self_test() -> None:
    script = (
        "import adagrain\n"
        "from adagrain.models.interface.configuration import configuration\n"
        "built = configuration('tiny', units=('statistics', 'large'))\n"
        "with adagrain.open_device('golden:', built) as device:\n"
        "    print(*(check.name for check in device.selftest().checks if check.passed))"
    )
    assert "large of FP32 large of BF16" in run("-c", script)


def test_it_is_synthesised() -> None:
    assert "large on ulx3s" in run("-m", "adagrain.host.cli.app", "synth", "large")


def test_another_gateware_is_another_build(tmp_path: Path) -> None:
    """The cache of compiled devices knows the sources of units from outside."""
    script = (
        "from adagrain.sim.compiled import library; print(library.digest(library._source_code()))"
    )
    copy = tmp_path / "own_unit"
    copy.mkdir()
    for file in (EXAMPLES / "own_unit").glob("*.py"):
        (copy / file.name).write_text(file.read_text())
    before = run("-c", script, folder=tmp_path)
    assert before == run("-c", script, folder=tmp_path)
    (copy / "gateware.py").write_text((copy / "gateware.py").read_text() + "# changed\n")
    assert before != run("-c", script, folder=tmp_path)
