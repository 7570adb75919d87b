"""The region table's arbitration: one at a time, by rank, and each read is answered once."""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.region_manager import RegionManager
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.units.region_manager import (
    WORDS_PER_REGION,
    Decision,
    RegionParameters,
    RegionStep,
    RegionUpdate,
)

from .harness import Proof, assume_stable, counted, demand_patience, demand_stable, transfers

__all__ = ["ArbitrationProof"]


class ArbitrationProof(Proof):
    """Accesses, steps, updates and parameters in any mixture."""

    DEPTH = 7
    MUTANT = (
        "hdl/region_manager/manager.py",
        "free = free & ~port.valid",
        "free = free & ~self.i_parameters.valid",
    )

    def __init__(self) -> None:
        self._manager = RegionManager(configuration("tiny", regions=1))
        members = self._manager.signature.members
        super().__init__(
            {
                "i_step": In(stream.Signature(RegionStep)),
                "i": In(stream.Signature(RegionUpdate)),
                "o": Out(stream.Signature(Decision)),
                "i_parameters": In(stream.Signature(RegionParameters)),
                "i_access": members["i_access"],
                "o_access": members["o_access"],
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.manager = manager = self._manager
        for name in ("i_step", "i", "i_parameters", "i_access"):
            connect(m, flipped(getattr(self, name)), getattr(manager, name))
            assume_stable(m, getattr(self, name))
        connect(m, manager.o, flipped(self.o))
        connect(m, manager.o_access, flipped(self.o_access))
        demand_stable(m, self.o)
        demand_stable(m, self.o_access)

        taken = [
            transfers(port) for port in (self.i_parameters, self.i_access, self.i_step, self.i)
        ]
        m.d.comb += Assert(sum(taken) <= 1)
        with m.If(self.i_access.ready):
            m.d.comb += Assert(~self.i_parameters.valid)

        reads = counted(m, transfers(self.i_access) & ~self.i_access.payload.write)
        answers = counted(m, transfers(self.o_access))
        m.d.comb += [Assert(answers <= reads), Assert(reads <= answers + 1)]
        demand_patience(m, reads != answers, self.o_access.valid, cycles=0)

        # What was written last is what is read, as long as no update touches the table.
        value, known, untouched = Signal(64), Signal(), Signal(init=1)
        awaited = Signal()
        access = self.i_access.payload
        watched = access.number == self.watch[:3]
        m.d.comb += Assume(access.number < WORDS_PER_REGION)
        with m.If(self.i.valid):
            m.d.sync += untouched.eq(0)
        with m.If(transfers(self.i_access)):
            m.d.sync += awaited.eq(watched & ~access.write & known)
            with m.If(watched & access.write):
                m.d.sync += [value.eq(access.item), known.eq(1)]
        with m.If(transfers(self.o_access) & awaited & untouched):
            m.d.comb += Assert(self.o_access.payload == value)
        m.d.comb += [
            Cover(transfers(self.o_access) & awaited & untouched & (value == 5)),
            Cover((answers == 2) & transfers(self.i_parameters)),
        ]
