"""The runner of cocotb benches: what it says when a bench fails, and when it builds again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adagrain.sim.benches import queue
from adagrain.sim.simulators import runner

HEAD = "from adagrain.sim.simulators.bench import bench\n"
AGAIN = "make sim UNIT=queue VARIANT=packet SIM=verilator SEED=5 WAVES=1"

Fail = Callable[[str], str]


@pytest.fixture
def fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Runs a bench that must fail on the queue, and returns what the runner says."""
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    monkeypatch.syspath_prepend(tmp_path)

    def run(text: str) -> str:
        (tmp_path / "failing_bench.py").write_text(HEAD + text)
        with pytest.raises(runner.BenchError) as caught:
            runner.run("queue", "packet", seed=5, bench="failing_bench")
        return str(caught.value)

    return run


def test_a_mismatch_is_told_with_index_and_seed(fail: Fail) -> None:
    said = fail("""
@bench(cycles=1000)
async def fails(b):
    b.source("i").put({"data": 1}, {"data": 0x72, "last": 1})
    await b.sink("o").expect([{"data": 1, "last": 0}, {"data": 0x73, "last": 1}])
""")
    assert "queue (packet, verilator): 1 of 1 tests failed" in said
    assert "o[1] must be {'data': 115, 'last': 1} (0x173)" in said
    assert "not {'data': 114, 'last': 1} (0x172)" in said
    assert "seed 5" in said
    assert AGAIN in said


@pytest.mark.parametrize(("full", "limit"), [("0", 200), ("1", 600)])
def test_a_bench_without_end_is_stopped(
    full: str, limit: int, fail: Fail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAGRAIN_FULL", full)
    said = fail("""
@bench(cycles=200)
async def fails(b):
    b.source("i", idle=0).put(*b.elements("i", 4))
    await b.sink("o").take(5)
""")
    assert f"no end after {limit} cycles: i accepted 4, 0 wait, idle 0; o delivered 4" in said


def test_surplus_output_is_a_failure(fail: Fail) -> None:
    said = fail("""
@bench(cycles=200)
async def fails(b):
    b.source("i", idle=0).put(*b.elements("i", 2))
    await b.sink("o", stall=0).take(1)
""")
    assert "o delivered more than expected" in said


def test_a_bench_without_tests_is_a_failure(fail: Fail) -> None:
    assert AGAIN in fail("")


def test_a_module_that_cannot_be_imported_is_a_failure(fail: Fail) -> None:
    said = fail("import no_such_module")
    assert "simulator broke down" in said
    assert "no_such_module" in said


def test_a_seed_repeats_a_run(fail: Fail) -> None:
    text = """
from zlib import crc32

@bench(cycles=9000)
async def fails(b):
    b.source("i").put(*b.elements("i", 50))
    taken = await b.sink("o").take(50)
    raise RuntimeError(f"fingerprint {crc32(str((taken, b.cycle)).encode())}")
"""
    lines = [line for _ in range(2) for line in fail(text).splitlines() if "fingerprint" in line]
    assert len(lines) >= 2
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("quueue", "packet"), "unit must be one of .*queue.*, not 'quueue'"),
        (
            ("queue", "none"),
            "variant of queue must be one of single, double, packet, .*, not 'none'",
        ),
        (("queue", "packet", "vcs"), "simulator must be verilator or icarus, not 'vcs'"),
    ],
)
def test_unknown_names_are_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runner.run(*arguments)  # type: ignore[arg-type]


class Simulator:
    """Stands for cocotb's runner, whose build may be killed."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self.is_killed = False

    def build(self, sources: list[Path], **_: Any) -> None:
        self.built.append(sources[0].read_text())
        if self.is_killed:
            raise KeyboardInterrupt

    def test(self, **_: Any) -> None:
        pass


def test_what_a_killed_build_left_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the Verilog is what it was before that build."""
    simulator, source = Simulator(), tmp_path / "dut.v"
    monkeypatch.setattr(runner, "BUILD", tmp_path)
    monkeypatch.setattr(runner, "missing", lambda simulator: None)
    monkeypatch.setattr(runner, "get_runner", lambda name: simulator)
    monkeypatch.setattr(runner, "get_results", lambda results: (1, 0))
    monkeypatch.setattr(runner, "emit", lambda *_: source)
    monkeypatch.setitem(queue.VARIANTS, "packet", lambda: None)

    def run(text: str) -> None:
        source.write_text(text)
        runner.run("queue", "packet", "icarus")

    run("one")
    run("one")
    assert simulator.built == ["one"]
    simulator.is_killed = True
    with pytest.raises(KeyboardInterrupt):
        run("two")
    simulator.is_killed = False
    run("one")
    assert simulator.built == ["one", "two", "one"]
