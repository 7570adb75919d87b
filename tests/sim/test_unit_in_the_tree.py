"""What a unit takes of the project: the example's, put into a copy of it as its page says.

The copy's own benches, netlists, mutants and checks find it there.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adagrain.sim.simulators import runner
from adagrain.sim.simulators.runtime import share

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_unit"
COPIED = ("adagrain", "benchmarks", "docs", "examples", "hdl", "host", "models", "sim", "tests")

#: New files that come of the example's.
MOVED = {
    "models/interface/units/large.py": "descriptor.py",
    "models/large.py": "twin.py",
    "hdl/large.py": "gateware.py",
    "sim/benches/large/traffic.py": "traffic.py",
    "sim/benches/large/bench.py": "bench.py",
}

#: Where what the example imports is in the project.
NAMES = {
    "from .descriptor import": "from adagrain.models.interface.units.large import",
    "from .gateware import": "from adagrain.hdl.large import",
    "from .twin import": "from adagrain.models.large import",
    "own_unit.gateware:": "adagrain.hdl.large:",
    "own_unit.twin:": "adagrain.models.large:",
    '    bench="own_unit",\n': "",
    "from adagrain.models.interface.units import Operation, Payload, Register, Unit\n": (
        "from .operation import Operation, Payload\n"
        "from .register import Register\n"
        "from .unit import Unit\n"
    ),
    "from adagrain.models.interface.units.tensor_input import": "from .tensor_fields import",
}

#: New files that it has not.
WRITTEN = {
    "sim/benches/large/__init__.py": '''"""Variants of the unit."""

from adagrain.hdl.large import Large

VARIANTS = {"one_lane": lambda: Large(1), "four_lanes": lambda: Large(4)}
ICARUS_VARIANTS = ("one_lane",)
''',
    "sim/mutants/catalogue/large.py": '''"""Mutants of the unit."""

from .mutant import Mutant, bench

MUTANTS = (
    Mutant(
        "an element that equals the threshold is small",
        "hdl/large.py",
        ">= threshold",
        "> threshold",
        bench("large", "four_lanes"),
    ),
)
''',
    "tests/models/test_large.py": '''"""The count against a plain comparison."""

import torch

from adagrain.models.large import large


def test_large() -> None:
    x = torch.randn(1000)
    assert large(x, 0x3F00_0000) == int((x.abs() >= 0.5).sum())
''',
    "docs/large.md": "# `large`: elements that are not small\n",
}

#: Lines that are added, each before another.
CHANGED = {
    "models/interface/units/__init__.py": {
        "from .operation import": "from .large import LARGE\n",
        "    TENSOR_INPUT,\n    LINK,": "    LARGE,\n",
    },
    "tests/models/test_references.py": {
        '    "link": (': '    "large": ("comparisons", "torch", "models/test_large.py"),\n',
    },
    "tests/hdl/test_loud_constructors.py": {
        "from adagrain.hdl.link import": "from adagrain.hdl.large import Large\n",
        "    IntegerDotProduct: {": '    Large: {"lanes": LANES},\n',
    },
}

USE = """
import sys
import torch
import adagrain
from adagrain.models.interface.configuration import configuration

built = configuration("tiny", units=("statistics", "large"))
torch.manual_seed(0)
x = torch.randn(1000)
for url in ("golden:", "sim:"):
    with adagrain.open_device(url, built) as device:
        found = device.run_pass("large", [x], threshold=0x3F80_0000)
        assert found == {"count": 1000, "large": int((x.abs() >= 1).sum())}, found
        print(device.backend, *(c.name for c in device.selftest().checks if c.passed))
"""


def test_its_page_tells_what_it_takes() -> None:
    page = (ROOT / "docs" / "own_unit.md").read_text()
    _, _, told = page.partition("## In the project itself")
    for path in {*MOVED, *WRITTEN, *CHANGED}:
        assert path in told or f"`{Path(path).name}`" in told, path
    assert len(MOVED) + len(WRITTEN) <= 9
    assert len(CHANGED) <= 3


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, with the unit among its own."""
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    copy = tmp_path_factory.mktemp("tree")
    for folder in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(ROOT / folder, copy / folder, symlinks=True, ignore=ignored)
    for file in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / file, copy)
    for path, text in files():
        (copy / path).parent.mkdir(exist_ok=True)
        (copy / path).write_text(text)
    share(copy / "cache")
    return copy


def files() -> Iterator[tuple[str, str]]:
    """Paths of files that are new or changed, and what is in them."""
    yield from WRITTEN.items()
    for path, source in MOVED.items():
        text = (EXAMPLE / source).read_text()
        for old, new in NAMES.items():
            text = text.replace(old, new)
        assert "own_unit" not in re.sub(r":class:`.*`", "", text)
        yield path, text
    for path, lines in CHANGED.items():
        text = (ROOT / path).read_text()
        for before, line in lines.items():
            assert text.count(before) == 1, before
            text = text.replace(before, line + before)
        yield path, text


def run(tree: Path, *command: str) -> str:
    """Output of a command in a copy of the project."""
    surroundings = {"PYTHONPATH": str(tree), "ADAGRAIN_CACHE": str(tree / "cache")}
    ended = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=os.environ | surroundings | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("file", "chosen", "passed"),
    [
        ("tests/sim/test_benches.py", "large", 4),
        ("tests/sim/test_netlist.py", "large or every_unit", 2),
        ("tests/hdl/test_loud_constructors.py", "Large or every", 3),
        ("tests/models/test_references.py", "large or every", 3),
        ("tests/models/test_large.py", "large", 1),
    ],
)
def test_the_projects_tests_find_it(tree: Path, file: str, chosen: str, passed: int) -> None:
    said = run(tree, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-k", chosen, file)
    assert said.count("PASSED ") == passed, said


@pytest.mark.full
def test_its_mutant_is_found(tree: Path) -> None:
    said = run(tree, "-m", "adagrain.sim.mutants", "--only", "equals the threshold is small")
    assert "1 of 1" in said, said


@pytest.mark.full
def test_it_is_synthesised(tree: Path) -> None:
    assert "large on ulx3s" in run(tree, "-m", "adagrain.host.cli.app", "synth", "large")


@pytest.mark.full
def test_it_answers_and_is_tested_on_every_backend(tree: Path) -> None:
    golden, rtl = run(tree, "-c", USE).splitlines()
    assert golden.startswith("golden model") and "large of FP32 large of BF16" in golden
    assert rtl.startswith("RTL") and "large of FP32 large of BF16" in rtl
