"""Finds everything in a source file that could be mutated."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from .operators import OPERATORS

__all__ = ["Mutation", "mutations"]

#: What only tells people something, or a type checker.
_SILENT_OBJECTS = {"_log", "logging", "warnings"}
_SILENT_FUNCTIONS = {"__repr__", "__str__", "print", "cast"}
_SILENT_NAMES = {"__all__", "__version__"}
#: Arguments that name things, or only check what the program itself has made.
_SILENT_ARGUMENTS = {"name", "description", "help", "strict", "src_loc_at"}
#: Types with parameters, outside of annotations.
_GENERIC = {"tuple", "list", "dict", "set", "deque", "Sequence", "Mapping", "Callable", "Literal"}
_SILENT_NODES = (
    cst.Annotation,
    cst.Decorator,
    cst.Import,
    cst.ImportFrom,
    cst.BaseString,
    cst.Global,
    cst.TypeAlias,
)


@dataclass(frozen=True)
class Mutation:
    """One change to a source file.

    Parameters
    ----------
    file : str
        Where, below the project.
    line : int
        Line in which what is changed begins.
    function : str
        Function or method that it is in, ``""`` for what stands outside of all.
    operator : str
        Key of :data:`OPERATORS`.
    source, mutated : str
        The whole file, before and after.
    """

    file: str
    line: int
    function: str
    operator: str
    source: str
    mutated: str

    @cached_property
    def diff(self) -> str:
        """As ``diff -u`` has it, without context."""
        lines = difflib.unified_diff(
            self.source.splitlines(), self.mutated.splitlines(), lineterm="", n=0
        )
        return "\n".join(list(lines)[3:])

    @property
    def before(self) -> str:
        """The lines that go, without the space around them."""
        return self._lines("-")

    @property
    def after(self) -> str:
        """The lines that come, likewise."""
        return self._lines("+")

    @property
    def key(self) -> str:
        """The key that tells it from all others, also after edits elsewhere in the file."""
        return f"{self.file}: {self.function}: {self.before} -> {self.after}"

    def _lines(self, sign: str) -> str:
        lines = self.diff.splitlines()
        return "\n".join(line[1:].strip() for line in lines if line.startswith(sign))


def mutations(root: Path, file: str) -> list["Candidate"]:
    """All that could be changed in a file, in its order."""
    source = (root / file).read_text()
    finder = _Finder(file, source)
    finder.wrapper.visit(finder)
    return finder.found


@dataclass(frozen=True)
class Candidate:
    """A mutation that has not been written out, which takes most of the time."""

    file: str
    line: int
    function: str
    operator: str
    source: str
    _module: cst.Module
    _node: cst.CSTNode
    _replacement: cst.CSTNode

    def mutation(self) -> Mutation:
        """The whole of it."""
        changed = self._module.deep_replace(self._node, self._replacement)
        assert isinstance(changed, cst.Module)
        return Mutation(
            self.file, self.line, self.function, self.operator, self.source, changed.code
        )


_OPERATORS = [(name, *row) for name, row in OPERATORS.items()]


class _Finder(cst.CSTVisitor):
    """Goes through a syntax tree, past what does nothing."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, file: str, source: str) -> None:
        super().__init__()
        self.wrapper = MetadataWrapper(cst.parse_module(source))
        self.found: list[Candidate] = []
        self._file, self._source = file, source
        self._scope: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_silent(node):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._scope.append(node.name.value)
        self.found += self._candidates(node)
        return not isinstance(node, cst.Raise)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef) and not _is_silent(
            original_node
        ):
            self._scope.pop()

    def _candidates(self, node: cst.CSTNode) -> Iterator[Candidate]:
        for name, types, replace in _OPERATORS:
            if isinstance(node, types):
                line = self.get_metadata(PositionProvider, node).start.line
                for replacement in replace(node):
                    yield Candidate(
                        self._file,
                        line,
                        ".".join(self._scope),
                        name,
                        self._source,
                        self.wrapper.module,
                        node,
                        replacement,
                    )


def _is_silent(node: cst.CSTNode) -> bool:
    """True if nothing that a program does hangs on it."""
    match node:
        case cst.FunctionDef(name=cst.Name(value=name)):
            return name in _SILENT_FUNCTIONS
        case cst.Arg(keyword=cst.Name(value=name)):
            return name in _SILENT_ARGUMENTS
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return name in _SILENT_NAMES
        case cst.If(test=cst.Name(value="TYPE_CHECKING")):
            return True
        case cst.Subscript(value=cst.Name(value=name)):
            return name in _GENERIC
        case cst.Expr(value=value):
            return isinstance(value, cst.BaseString) or _is_silent(value)
        case (
            cst.Call(func=cst.Name(value=name))
            | cst.Call(func=cst.Attribute(attr=cst.Name(value="print" as name)))
        ):
            return name in _SILENT_FUNCTIONS
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name))):
            return name in _SILENT_OBJECTS
    return isinstance(node, _SILENT_NODES)
