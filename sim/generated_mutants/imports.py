"""Imports among the files of the project, told from the sources."""

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath

from adagrain.models.interface.units import UNITS

__all__ = ["imports", "reached"]

#: Folders whose files import each other.
_CODE = ("hdl", "models", "host", "sim", "tests")
#: Files that load what the descriptors of units name, and which of it.
_LOADERS = {
    "models/device/commands.py": "twin",
    "hdl/device/handlers.py": "gateware",
    "hdl/tensor_input/pass_commands.py": "core",
}
#: Folders of tests whose other files they share.
_SHARED = ("tests/host", "tests/models")
#: What tests run: a module of the project, or a file beside them.
_PROGRAM = re.compile(r"adagrain\.[\w.]+|\w+\.py")


def imports(root: Path) -> dict[str, set[str]]:
    """Each file of the project, and those that it imports, or loads since a descriptor names it."""
    found = {file: _imports(root, file) for file in _sources(root)}
    for loader in found.keys() & _LOADERS.keys():
        kind = _LOADERS[loader]
        places = (getattr(unit, kind).partition(":")[0] for unit in UNITS.values())
        found[loader] |= {"/".join(place.split(".")[1:]) + ".py" for place in places if place}
    return found


def reached(imports: Mapping[str, Iterable[str]], roots: Iterable[str]) -> dict[str, int]:
    """Number of imports that lead from the nearest of some files to each that they need."""
    found = dict.fromkeys(roots, 0)
    waiting = deque(found)
    while waiting:
        file = waiting.popleft()
        for imported in imports.get(file, ()):
            if imported not in found:
                found[imported] = found[file] + 1
                waiting.append(imported)
    return found


def _sources(root: Path) -> list[str]:
    files = [path for folder in _CODE for path in (root / folder).rglob("*.py")]
    files += (root / "adagrain").glob("*.py")
    return sorted(str(path.relative_to(root)) for path in files)


def _imports(root: Path, file: str) -> set[str]:
    """Files of the project that a file imports, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse((root / file).read_text())):
        for module in _modules(node, file):
            path = PurePath(*module)
            public = PurePath("adagrain", *module)
            candidates = (f"{path}.py", f"{path}/__init__.py", f"{public}.py")
            found |= {name for name in candidates if (root / name).is_file()}
    return found - {file}


def _modules(node: ast.AST, file: str) -> Iterator[tuple[str, ...]]:
    """Modules that a statement may import, or a program that is run, by their place."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if _PROGRAM.fullmatch(node.value):
            yield from _places(node.value.removesuffix(".py"))
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield from _places(alias.name)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level:
            package = PurePath(file).parts[: -node.level]
            bases = [(*package, *filter(None, module.split(".")))]
        else:
            bases = [*_places(module)]
        for base in bases:
            yield base
            for alias in node.names:
                yield (*base, alias.name)


def _places(module: str) -> Iterator[tuple[str, ...]]:
    """``adagrain.models.x`` lies in ``models/x``; what tests share lies beside them."""
    first, *rest = module.split(".")
    if first == "adagrain":
        yield tuple(rest) or (first,)
    else:
        yield from ((*folder.split("/"), first, *rest) for folder in _SHARED)
