"""A spill register: what it holds, leaves, once, in order."""

from adagrain.hdl.stream.spill_register import SpillRegister

from .queue import QueueProof

__all__ = ["SpillRegisterProof"]


class SpillRegisterProof(QueueProof):
    """Two elements, whatever comes in meanwhile."""

    ELEMENTS = 2
    MUTANT = (
        "hdl/stream/spill_register.py",
        "valid.eq(full | self.i.valid)",
        "valid.eq(self.i.valid)",
    )

    def unit(self) -> SpillRegister:
        return SpillRegister(2)
