"""Mutants, each of which a test or a proof must find."""

from .catalogue import MUTANTS, Mutant
from .runner import Result, check, patched_copy

__all__ = ["MUTANTS", "Mutant", "Result", "check", "patched_copy"]
