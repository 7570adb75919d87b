"""Commands without the optional modules: what works, and what is said of those that are missing."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from adagrain.host.cli.errors import _EXTRAS

#: Runs command lines, one a line of input, where modules are missing; prints their statuses.
_CALLS = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))
from typer.testing import CliRunner
from adagrain.host.cli.app import app
for line in sys.stdin:
    result = CliRunner().invoke(app, line.split(), env={"COLUMNS": "300", "NO_COLOR": "1"})
    said = " ".join(result.output.split())
    print(result.exit_code, repr(result.exception) if result.exit_code == 1 and not said else said)
"""

#: Prints which modules showing all commands has brought.
_HELP = """
import sys
from typer.testing import CliRunner
from adagrain.host.cli.app import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
print(*sys.modules)
"""


def call(lines: list[str], missing: tuple[str, ...], cache: Path) -> list[str]:
    """Status and output of command lines where modules are missing and nothing is compiled."""
    command = [sys.executable, "-c", _CALLS, ",".join(missing)]
    ended = subprocess.run(
        command,
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"ADAGRAIN_CACHE": str(cache), "YOSYS": "no-yosys"},
    )
    return ended.stdout.splitlines()


def test_base_dependencies_alone_are_enough_for_golden_devices(tmp_path: Path) -> None:
    lines = ["--help", "devices", "info golden:", "selftest golden: --preset tiny"]
    every = tuple(module for modules in _EXTRAS.values() for module in modules)
    for line, said in zip(lines, call(lines, every, tmp_path), strict=True):
        assert said.startswith("0 "), f"{line}: {said}"


@pytest.mark.parametrize(
    "extra, lines",
    [
        ("sim", ("info sim:", "info virtual:", "virtual-board", "sim queue", "train")),
        ("synth", ("synth queue", "bitstream", "selftest sim: --preset tiny --netlist ecp5")),
        ("train", ("train --device golden:",)),
    ],
)
def test_the_extra_that_is_missing_is_named(
    extra: str, lines: tuple[str, ...], tmp_path: Path
) -> None:
    for line, said in zip(lines, call(list(lines), _EXTRAS[extra], tmp_path), strict=True):
        assert re.match("1 (.* )?error: ", said), f"{line}: {said}"
        assert said.endswith(f"pip install 'adagrain[{extra}]'"), f"{line}: {said}"


@pytest.mark.parametrize("module", ["matplotlib", "tensorboard"])
def test_a_run_that_lacks_a_module_is_not_begun(module: str, tmp_path: Path) -> None:
    line = f"train --device golden: --steps 2 --name run --runs {tmp_path / 'runs'}"
    (said,) = call([line], (module,), tmp_path)
    assert said.startswith("1 ") and said.endswith("pip install 'adagrain[train]'"), said
    assert not (tmp_path / "runs").exists()


def test_help_brings_nothing_that_takes_long() -> None:
    command = [sys.executable, "-c", _HELP]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    slow = {"amaranth", "matplotlib", "numba", "numpy", "serial", "torch"}
    assert not slow & {*shown.stdout.split()}


@pytest.mark.parametrize("extra", _EXTRAS)
def test_modules_of_all_extras_are_known(extra: str) -> None:
    brought = importlib.metadata.packages_distributions()
    marker = re.compile(rf'extra == "{extra}"')
    for text in importlib.metadata.requires("adagrain") or []:
        requirement = Requirement(text)
        if not marker.search(str(requirement.marker)) or requirement.name == "adagrain":
            continue
        modules = [m for m, names in brought.items() if _is_one(requirement.name, names)]
        if requirement.extras:  # then what it brings is another package
            continue
        assert {*modules} & {*_EXTRAS[extra]}, f"{requirement.name} brings {modules}"


def _is_one(name: str, names: list[str]) -> bool:
    return canonicalize_name(name) in map(canonicalize_name, names)
