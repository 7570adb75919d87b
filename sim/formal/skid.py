"""A skid: what it keeps, leaves, once, in order."""

from amaranth.hdl import Module

from adagrain.hdl.stream.skid import Skid

from .harness import assume_stable
from .queue import QueueProof

__all__ = ["SkidProof"]


class SkidProof(QueueProof):
    """A skid, whose output is its input's as long as it keeps nothing."""

    ELEMENTS = 1
    MUTANT = (
        "hdl/stream/skid.py",
        "full.eq(self.o.valid & ~self.o.ready)",
        "full.eq(self.i.valid & ~self.o.ready)",
    )

    def unit(self) -> Skid:
        return Skid(2)

    def build(self, m: Module) -> None:
        assume_stable(m, self.i)
        super().build(m)
