"""A spill register: what it holds, leaves, once, in order."""

from adagrain.hdl.stream.spill_register import SpillRegister

from .queue import QueueProof

__all__ = ["SpillProof", "SpillRegisterProof"]


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


class SpillProof(SpillRegisterProof):
    """The same with the multiplexer behind the registers."""

    MUTANT = (
        "hdl/stream/spill_register.py",
        "connect(m, skid.o, flipped(self.o))",
        "connect(m, skid.o, flipped(self.o))\n        m.d.comb += skid.o.ready.eq(1)",
    )

    def unit(self) -> SpillRegister:
        return SpillRegister(2, registered=False)
