"""Mutants, each of which a test or a proof must find."""

from .catalogue import MUTANTS, Mutant
from .runner import Verdict, check, patched_copy

__all__ = ["MUTANTS", "Mutant", "Verdict", "check", "patched_copy"]
