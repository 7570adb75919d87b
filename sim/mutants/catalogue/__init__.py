"""The mutants, a file per unit: what a tired engineer might write."""

from importlib import import_module
from pathlib import Path

from .mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

_FILES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))

#: Those of all files, each of which has ``MUTANTS``, in the order of their names.
MUTANTS: tuple[Mutant, ...] = tuple(
    mutant
    for name in _FILES
    if name != "mutant"
    for mutant in import_module(f"{__name__}.{name}").MUTANTS
)
