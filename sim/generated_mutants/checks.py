"""The tests that check a file: those that import it, on the shortest way, told from the sources.

For gateware, importing is not enough: a bench checks what its variant is made of.
"""

import importlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Fragment

from adagrain.sim.simulators import runner

from .imports import imports, reached

__all__ = ["Check", "Checks"]

#: Test files that do not check mutants: they make mutants themselves, prove, or synthesise.
_LEFT_OUT = ("test_mutants.py", "test_generated_mutants.py", "test_formal.py", "test_netlist.py")
_BENCHES = "tests/sim/test_benches.py"
#: Seconds that a file of tests is supposed to take, of which nothing is known yet.
_USUAL = 20.0
#: Seconds of a test that is run after those that take less.
_LONG = 3.0
#: Seconds of a bench, and for each component of the design that is built for it.
_BENCH, _EACH_COMPONENT = 10.0, 0.3


@dataclass(frozen=True)
class Check:
    """A test, or those of a file.

    Parameters
    ----------
    name : str
        pytest's node id.
    seconds : float
        How long it may take.
    less : tuple of str
        Tests of the file that are not run with it: they take long.
    """

    name: str
    seconds: float
    less: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Checks:
    """Finds the tests of a file.

    Parameters
    ----------
    root : Path
        The project.
    seconds : Path
        File in which :meth:`learn` keeps how long tests took.
    """

    def __init__(self, root: Path, seconds: Path) -> None:
        self._root, self._kept = root, seconds
        self._seconds: dict[str, float] = (
            json.loads(seconds.read_text()) if seconds.exists() else {}
        )
        self._by_file = _by_file(self._seconds)
        self._imports = imports(root)
        self._costs: dict[str, float] = {}  # of benches, guessed
        self._tests = dict(self._of_pytest()) | dict(self._of_benches())

    def of(self, file: str, patience: float) -> list[Check]:
        """Tests that import a file, in the order in which they are to be run.

        Those that take long come last, but for its own bench. Among the others, and among them,
        those of its own name come first, then those that are nearest to it, then those that take
        the least.

        Parameters
        ----------
        file : str
            Below the project.
        patience : float
            Seconds that all of them may take, but for the first.
        """
        names = _names(file)
        ranked = sorted(
            (late, unlike, distances[file], check.seconds, check.name, check)
            for name, distances in self._tests.items()
            if file in distances
            for unlike in [_is_unlike(name, names)]
            for late, check in self._parts(name, unlike)
        )
        chosen, total = list[Check](), 0.0
        for *_, check in ranked:
            if not chosen or total + check.seconds <= patience:
                chosen.append(check)
                total += check.seconds
        return chosen

    def unknown(self, files: Iterable[str], patience: float) -> list[str]:
        """Files of tests that :meth:`of` chooses without knowing how long they take.

        When that is learnt others may take their place; so ask again until there are none.
        """
        chosen = (check for file in dict.fromkeys(files) for check in self.of(file, patience))
        new = (c.name for c in chosen if "::" not in c.name and c.name not in self._by_file)
        return [*dict.fromkeys(new)]

    def learn(self, seconds: dict[str, float]) -> None:
        """Keep how long tests took that passed, where that is the least so far."""
        old = self._seconds  # which threads may be reading
        self._seconds = old | {name: min(s, old.get(name, s)) for name, s in seconds.items()}
        self._by_file = _by_file(self._seconds)
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        self._kept.write_text(json.dumps(self._seconds, indent=1, sort_keys=True))

    def _parts(self, name: str, unlike: bool) -> Iterator[tuple[bool, Check]]:
        """The tests of a file but for those that take long, and those; or a bench.

        What tests of a file share is set up with the former.

        Whether they wait for others goes with them.
        """
        if "::" in name:
            yield unlike, Check(name, self._seconds.get(name) or self._costs[name])
            return
        known = self._by_file.get(name, {})
        long = {test: seconds for test, seconds in known.items() if seconds > _LONG}
        shared = self._seconds.get(name, 0.0)
        rest = shared + sum(known.values()) - sum(long.values()) if known else _USUAL
        yield False, Check(name, rest, tuple(long))
        for test, seconds in long.items():
            yield True, Check(test, seconds)

    def _of_pytest(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Test files, and how far all that they import is from them."""
        for file in self._imports:
            name = PurePath(file).name
            if name.startswith("test_") and name not in _LEFT_OUT and file != _BENCHES:
                yield file, reached(self._imports, [file])

    def _of_benches(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Benches, and how far models are from them; all gateware of a variant is near."""
        for unit in runner.units():
            package = importlib.import_module(f"adagrain.sim.benches.{unit}")
            roots = [f"sim/benches/{unit}/{part}.py" for part in ("__init__", "bench")]
            found = reached(self._imports, roots)
            models = {file: at for file, at in found.items() if not file.startswith("hdl/")}
            for variant, make in package.VARIANTS.items():
                name = f"{_BENCHES}::test_bench[{unit}-{variant}-verilator]"
                components = _elaborated(make())
                files = {_file_of(module) for module in components}
                helpers = {f for file in files for f in self._imports.get(file, ())}
                near = dict.fromkeys(helpers, 1) | dict.fromkeys(files, 0)
                self._costs[name] = _BENCH + _EACH_COMPONENT * len(components)
                yield name, models | near


def _by_file(seconds: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Seconds of the tests of each file of which anything is known."""
    found: dict[str, dict[str, float]] = {}
    for name, taken in seconds.items():
        file, _, test = name.partition("::")
        own = found.setdefault(file, {})
        if test:
            own[name] = taken
    return found


def _elaborated(component: Any) -> list[str]:
    """Modules of all components in a design, once for each."""
    modules = list[str]()
    get = Fragment.get

    def noting(part: Any, platform: Any) -> Fragment:
        modules.append(type(part).__module__)
        return get(part, platform)

    with patch.object(Fragment, "get", noting):
        Fragment.get(component, None)
    return [module for module in modules if module.startswith("adagrain.")]


def _file_of(module: str) -> str:
    return "/".join(module.split(".")[1:]) + ".py"


def _names(file: str) -> set[str]:
    """Names that a test of a file may be called after: its own, or its unit's."""
    path = PurePath(file)
    return {part for part in (path.stem, *path.parent.parts[1:]) if part != "__init__"}


def _is_unlike(test: str, names: set[str]) -> bool:
    if test.startswith(_BENCHES):
        return test.partition("[")[2].partition("-")[0] not in names
    stem = PurePath(test).stem.removeprefix("test_")
    return not any(name.startswith(stem) or stem.startswith(name) for name in names)
