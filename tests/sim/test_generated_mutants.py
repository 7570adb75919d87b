"""Generated mutants: what is mutated and what is not, what checks, and what results mean."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adagrain.sim.generated_mutants.__main__ import app
from adagrain.sim.generated_mutants.checks import Check, Checks
from adagrain.sim.generated_mutants.equivalent import Equivalent, equivalents
from adagrain.sim.generated_mutants.mutations import Mutation, mutations
from adagrain.sim.generated_mutants.runs import Outcome, Result, Runs
from adagrain.sim.generated_mutants.sample import Sample, drawn
from adagrain.sim.generated_mutants.tree import Tree

ROOT = Path(__file__).parents[2]


def changed(tmp_path: Path, source: str) -> set[str]:
    """The lines that come in the mutants of a source."""
    (tmp_path / "some.py").write_text(source)
    return {candidate.mutation().after for candidate in mutations(tmp_path, "some.py")}


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("x = a + b", {"x = a - b"}),
        ("x = a & b | c", {"x = a | b | c", "x = a & b & c"}),
        ("x = a << 0x10", {"x = a >> 0x10", "x = a << 0x11", "x = a << 0xf"}),
        ("x = a == b", {"x = a != b", "x = a >= b"}),
        ("x = a < b", {"x = a <= b", "x = a >= b"}),
        ("x = a is None", {"x = a is not None"}),
        ("x = not a", {"x = a"}),
        ("x = ~a", {"x = a"}),
        ("x = a[b:]", {"x = a[(b) + 1:]"}),
        ("x = a[:2]", {"x = a[:3]", "x = a[:1]"}),
        ("x = 0", {"x = 1"}),
        ("x = 0.5", {"x = 0.75"}),
        ("x = b if a else c", {"x = c if a else b"}),
        ("x = Cat(a, b)", {"x = Cat(b, a)"}),
        ("x = Mux(a, b, c)", {"x = Mux(a, c, b)"}),
        ("x = min(a, True)", {"x = max(a, True)", "x = min(a, False)"}),
        ("f(a)", {"pass"}),
        ("a.b = c", {"pass"}),
        ("x -= y", {"x += y", "pass"}),
        ("if a:\n    raise b", {"if not (a):", "pass"}),
        ("with m.If(a):\n    b", {"with m.If((a) == 0):"}),
        ("m.d.sync += [a, b]", {"m.d.sync += [b]", "m.d.sync += [a, ]", "pass"}),
        ("x = Signal(init=1)", {"x = Signal(init=2)", "x = Signal(init=0)"}),
    ],
)
def test_operators(tmp_path: Path, source: str, mutants: set[str]) -> None:
    assert changed(tmp_path, source) == mutants


@pytest.mark.parametrize(
    "source",
    [
        '"""Text, 1 + 1."""',
        "import a",
        "x: int | None",
        "def f(x: Literal[1, 2]) -> int | str: ...",
        "__all__ = [a, b][:2]",
        '_log.warning("%d", a + 1)',
        "print(a + 1)",
        "x = list[int | None]()",
        'x = Signal(name=f"{a + 1}")',
        "def __repr__(self):\n    return a + 1",
        "@cache(1)\nclass A: ...",
        "if TYPE_CHECKING:\n    x = 1",
    ],
)
def test_what_does_nothing_is_not_mutated(tmp_path: Path, source: str) -> None:
    assert changed(tmp_path, source) == set()


def test_the_message_of_an_error_is_not_mutated_but_the_error_is(tmp_path: Path) -> None:
    assert changed(tmp_path, "raise ValueError(a + 1)") == {"pass"}


def test_the_same_seed_draws_the_same_mutants_of_different_lines() -> None:
    keys = [
        [mutation.key for mutation in drawn(ROOT, "models", seed, "numerics/rounding")]
        for seed in (1, 1, 2)
    ]
    assert keys[0] == keys[1] != keys[2]
    lines = [mutation.line for mutation in drawn(ROOT, "models", 1, "numerics/rounding")]
    assert len(lines) == len(set(lines)) > 10


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Checks:
    return Checks(ROOT, tmp_path_factory.mktemp("checks") / "seconds.json")


@pytest.mark.parametrize(
    ("file", "first", "among"),
    [
        ("hdl/stream/queue.py", "test_bench[queue-", "coprocessor-"),
        ("hdl/granularity_unit/commands.py", "test_commands.py", "coprocessor-integers"),
        ("hdl/statistics/quantise.py", "test_bench[statistics-tiny", "test_statistics.py"),
        ("models/numerics/rounding.py", "tests/models/test_rounding.py", "test_quantisation.py"),
        ("models/statistics/kernel.py", "statistics", "test_normalised_variance.py"),
        ("host/link/session.py", "tests/host/test_session.py", "test_faults.py"),
        ("host/regions/chunks.py", "tests/host/", "test_ddp.py"),  # by a program that it starts
        ("tests/models/single_region.py", "tests/models/test_region_", "test_region_cadence.py"),
    ],
)
def test_what_is_run(checks: Checks, file: str, first: str, among: str) -> None:
    names = [test.name for test in checks.of(file, 1e6)]
    assert first in names[0]
    assert any(among in name for name in names)


def test_gateware_is_checked_by_designs_that_have_it(checks: Checks) -> None:
    names = [test.name for test in checks.of("hdl/granularity_unit/commands.py", 1e6)]
    assert not any("coprocessor-full" in name for name in names)


def test_tests_that_take_long_are_left_out(checks: Checks) -> None:
    every = checks.of("host/link/session.py", 1e6)
    assert checks.of("host/link/session.py", 0) == every[:1]
    quick, other = every[:2]
    checks.learn({f"{quick.name}::test": 0.5, f"{other.name}::test": 1000.0})
    found = {test.name: test for test in checks.of("host/link/session.py", 900)}
    assert not found[quick.name].less
    assert found[other.name].less == (f"{other.name}::test",)
    assert f"{other.name}::test" not in found
    last = checks.of("host/link/session.py", 1e6)[-1]
    assert last == Check(f"{other.name}::test", 1000.0)


def project(path: Path) -> None:
    """A project with one function, one test that sees what it does, and one that fails."""
    for folder in ("models", "tests"):
        (path / folder).mkdir(parents=True)
    (path / "models" / "double.py").write_text("def double(x):\n    return x + x\n")
    (path / "models" / "__init__.py").write_text("")
    test = "from models.double import double\n\n\ndef test_it() -> None:\n    assert {}\n"
    (path / "tests" / "test_two.py").write_text(test.format("double(2) == 4"))
    (path / "tests" / "test_zero.py").write_text(test.format("double(0) == 0"))
    (path / "tests" / "test_sick.py").write_text(test.format("double(0) == 1"))
    (path / "tests" / "test_slow.py").write_text(
        "import time\n" + test.format("double(2) == 4 or time.sleep(1000)")
    )
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=path, check=True)


@pytest.mark.parametrize(
    ("after", "tests", "outcome"),
    [
        ("return x - x", ["zero", "two"], Outcome(Result.FOUND, "tests/test_two.py::test_it")),
        pytest.param("return x * x", ["zero"], Outcome(Result.SURVIVED), marks=pytest.mark.full),
        ("return x * x", ["sick", "zero"], Outcome(Result.SURVIVED)),
        ("return x - x", ["sick", "two"], Outcome(Result.FOUND, "tests/test_two.py::test_it")),
        ("return x -", ["two"], Outcome(Result.BROKEN, "tests/test_two.py")),
        ("return x - x", ["slow"], Outcome(Result.TIMED_OUT)),
        ("return x - x", [], Outcome(Result.SURVIVED)),
    ],
)
def test_results(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: str,
    tests: list[str],
    outcome: Outcome,
) -> None:
    if outcome.result is Result.TIMED_OUT:
        monkeypatch.setattr("adagrain.sim.generated_mutants.runs._PATIENCE", 6)
    root = tmp_path / "project"
    project(root)
    source = (root / "models" / "double.py").read_text()
    mutated = source.replace("return x + x", after)
    mutation = Mutation("models/double.py", 2, "double", "operator", source, mutated)
    (tmp_path / "scratch").mkdir()
    tree = Tree(root, tmp_path / "scratch")
    found = tree.check(mutation, [Check(f"tests/test_{name}.py", 0) for name in tests])
    assert (found.result, found.test) == (outcome.result, outcome.test)
    assert (root / "models" / "double.py").read_text() == source


@pytest.mark.full
def test_time_that_is_up_proves_nothing_while_tests_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four seconds each, of which the last finds it: the others are not run again."""
    monkeypatch.setattr("adagrain.sim.generated_mutants.runs._PATIENCE", 8)
    root = tmp_path / "project"
    project(root)
    (root / "tests" / "test_many.py").write_text(
        "import time\n\nimport pytest\n\nfrom models.double import double\n\n\n"
        '@pytest.mark.parametrize("number", range(3))\n'
        "def test_it(number: int) -> None:\n"
        "    time.sleep(4)\n    assert number < 2 or double(2) == 4\n"
    )
    source = (root / "models" / "double.py").read_text()
    mutation = Mutation(
        "models/double.py", 2, "double", "operator", source, source.replace("x + x", "x - x")
    )
    (tmp_path / "scratch").mkdir()
    tree = Tree(root, tmp_path / "scratch")
    found = tree.check(mutation, [Check("tests/test_zero.py", 0), Check("tests/test_many.py", 0)])
    finder = "tests/test_many.py::test_it[2]"
    assert (found.result, found.test) == (Result.FOUND, finder)
    passed = {"tests/test_zero.py::test_it", *(finder.replace("2", n) for n in "01")}
    assert passed == {name for name in found.seconds if "::" in name}


def test_compiled_kernels_are_the_mutants(tmp_path: Path) -> None:
    """They hold constants of other files, and are kept."""
    root = tmp_path / "project"
    project(root)
    (root / "models" / "one.py").write_text("ONE = 1\n")
    (root / "models" / "kernel.py").write_text(
        "from numba import njit\n\nfrom .one import ONE\n\n\n"
        "@njit(cache=True)\ndef after(x):\n    return x + ONE\n"
    )
    test = "from models.kernel import after\n\n\ndef test_it() -> None:\n    assert after(2) == 3\n"
    (root / "tests" / "test_kernel.py").write_text(test)
    (tmp_path / "scratch").mkdir()
    tree = Tree(root, tmp_path / "scratch")
    results = []
    for file, after in (("double", ""), ("one", "ONE = 2\n"), ("one", "ONE = 3 - 2\n")):
        source = (root / "models" / f"{file}.py").read_text()
        mutation = Mutation(f"models/{file}.py", 1, file, "operator", source, after)
        results.append(tree.check(mutation, [Check("tests/test_kernel.py", 0)]).result)
    assert results == [Result.SURVIVED, Result.FOUND, Result.SURVIVED]


class OneTest(Checks):
    """Checks whose only test is that of the small project."""

    def __init__(self) -> None:
        self.learnt: dict[str, float] = {}

    def of(self, file: str, patience: float) -> list[Check]:
        return [Check("tests/test_zero.py", 0)]

    def unknown(self, files: Iterable[str], patience: float) -> list[str]:
        assert (list(files), patience) == (["models/double.py"], 100)
        names = [f"tests/test_{name}.py" for name in ("zero", "sick")]
        return [name for name in names if name not in self.learnt][:1]

    def learn(self, seconds: dict[str, float]) -> None:
        self.learnt |= seconds


def test_how_long_tests_take_is_learnt_before(tmp_path: Path) -> None:
    root = tmp_path / "project"
    project(root)
    checks = OneTest()
    sample = Sample.draw(root, tmp_path, "models", count=9, seed=1)
    assert [*sample.rehearse(checks, 100, tmp_path)] == [(0, 1), (1, 1), (1, 2), (2, 2)]
    assert set(checks.learnt) == {
        *("tests/test_zero.py", "tests/test_zero.py::test_it", "tests/test_sick.py")
    }
    assert not [*sample.rehearse(checks, 100, tmp_path)]


def test_what_is_known_is_not_learnt_again(checks: Checks) -> None:
    flight = ["host/link/flight.py"]
    new = checks.unknown(flight, 60)
    assert "tests/host/test_flight.py" in new
    assert not any("::" in name or name.startswith("tests/hdl") for name in new)
    checks.learn({"tests/host/test_flight.py::test_an_empty_flight": 20})
    assert {*new} - {*checks.unknown(flight, 60)} == {"tests/host/test_flight.py"}


def test_only_what_will_run_is_learnt(checks: Checks) -> None:
    """What takes less than was supposed leaves time for others, until it is used up."""
    flight, patience = ["host/link/flight.py"], 60
    while new := checks.unknown(flight, patience):
        assert len(new) <= 3, "of each 20 seconds are supposed"
        checks.learn({f"{name}::test_it": 2.0 for name in new})
    assert sum(check.seconds for check in checks.of(flight[0], patience)) > patience - 20
    assert checks.unknown(flight, 10 * patience), "those for which there was no time"


def test_a_sample_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    root = tmp_path / "project"
    project(root)
    checks = OneTest()
    draws = {"folder": "models", "count": 9, "seed": 1}
    first = Sample.draw(root, tmp_path, **draws)
    (mutation,) = first.waiting  # of the only line
    assert [*first.check(checks, 100, tmp_path / "scratch")] == [mutation]
    assert first.survivors() == [mutation]
    assert set(checks.learnt) == {"tests/test_zero.py", "tests/test_zero.py::test_it"}
    again = Sample.draw(root, tmp_path, **draws)
    assert not again.waiting
    assert again.found == first.found
    older = first.journal.read_text().replace('"result":', '"verdict":')
    first.journal.write_text(older)
    assert Sample.draw(root, tmp_path, **draws).found == first.found
    assert Sample.draw(root, tmp_path, **draws | {"seed": 2}).waiting


@pytest.mark.parametrize("equivalent", equivalents(), ids=lambda e: f"{e.file}: {e.after}")
def test_arguments_are_of_mutants_that_there_are(equivalent: Equivalent) -> None:
    """Of today's lines; otherwise they have to be made again."""
    lines = (ROOT / equivalent.file).read_text().splitlines()
    first = equivalent.before.splitlines()[0]
    near = {
        at + past for at, line in enumerate(lines) if line.strip() == first for past in range(9)
    }
    found = [c.mutation() for c in mutations(ROOT, equivalent.file) if c.line in near]
    assert (equivalent.before, equivalent.after) in {(m.before, m.after) for m in found}
    assert len(equivalent.why) > 20


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--folder", "docs", "folder must be one of hdl, models, host, not 'docs'"),
        ("--only", "zzzz", "name of a file with mutants must contain 'zzzz', none does"),
        ("--only", "hdl/__init__", "must contain 'hdl/__init__', none does"),
    ],
)
def test_wrong_options_are_named(option: str, value: str, message: str) -> None:
    outcome = CliRunner().invoke(app, [option, value])
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.output.replace("│", "").split())


def test_tests_are_run_with_their_short_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by `make test-full`: a mutant is found in minutes or not at all."""
    (tmp_path / "test_short.py").write_text(
        "import os\ndef test_short():\n    assert 'ADAGRAIN_FULL' not in os.environ\n"
    )
    monkeypatch.setenv("ADAGRAIN_FULL", "1")
    found = Runs(tmp_path, tmp_path / "scratch").run([Check("test_short.py", 20.0)], {})
    assert found.result is Result.SURVIVED and found.seconds
