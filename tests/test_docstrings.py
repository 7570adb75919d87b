"""Docstrings say what a thing is or does: none begins as a question would."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Words that tell what a docstring is about, and not what the thing is.
QUESTIONS = {"how", "what", "when", "where", "whether", "which", "who", "why"}


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings in a file, each with the line of what has it."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


def asking(folder: Path) -> list[str]:
    """Docstrings below a folder that begin with such a word, by file and line."""
    return [
        f"{path.relative_to(folder.parent)}:{line}: {text.splitlines()[0]}"
        for path in sorted(folder.rglob("*.py"))
        for line, text in docstrings(path)
        if text.split()[0].lower() in QUESTIONS
    ]


@pytest.mark.parametrize("folder", ["hdl", "host", "models", "sim"])
def test_docstrings_begin_with_what_a_thing_is_or_does(folder: str) -> None:
    assert asking(ROOT / folder) == []


def test_one_that_does_not_is_found(tmp_path: Path) -> None:
    (tmp_path / "unit.py").write_text(
        '"""A unit."""\n\n\ndef count() -> int:\n    """How many there are."""\n'
    )
    assert asking(tmp_path) == [f"{tmp_path.name}/unit.py:4: How many there are."]
