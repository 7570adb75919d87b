"""Proofs of the gateware's plumbing, with SymbiYosys and Z3."""

from .runner import PROOFS, Found, Holds, prove

__all__ = ["PROOFS", "Found", "Holds", "prove"]
