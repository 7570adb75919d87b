"""Parts of proofs: a unit among free ports, and what is demanded of its streams."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

from amaranth.hdl import Assert, Assume, Cover, Module, ResetSignal, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

__all__ = [
    "Mutant",
    "Proof",
    "always_steady",
    "assume_stable",
    "counted",
    "demand_order",
    "demand_patience",
    "demand_stable",
    "transfers",
]

#: A mutant: a file below the project, a text in it, and the wrong one to put there.
Mutant = tuple[str, str, str]


class Proof(wiring.Component):
    """A unit among free ports: assumptions bind them, assertions must hold, covers be reached.

    Subclasses add the unit and what is demanded of it in :meth:`build`.

    Parameters
    ----------
    members : dict
        Ports, beside ``watch``.

    Members
    -------
    watch : ``In(5)``
        Number of the element that is followed: any one, but always the same.

    Attributes
    ----------
    DEPTH : int
        Clock cycles after reset for which the assertions are proved, and within which each cover
        must be reached.
    INDUCTION : int
        Steps of an induction that proves the assertions for all time instead; 0 for none. What
        holds in so many cycles, whatever came before them, must then hold in the next one.
    MUTANT : Mutant
        A mutant that the proof must find.
    CELLS : str or None
        The FPGA family whose cells it is about; their memories then begin with any content.
    FLAT : bool
        Modules are dissolved before, so that logic is left out which no assertion depends on.
    """

    DEPTH: ClassVar[int] = 16
    INDUCTION: ClassVar[int] = 0
    MUTANT: ClassVar[Mutant]
    CELLS: ClassVar[str | None] = None
    FLAT: ClassVar[bool] = False

    def __init__(self, members: Mapping[str, Any] = {}) -> None:
        super().__init__({"watch": In(5), **members})

    @classmethod
    def variants(cls) -> Iterator[Self]:
        """The proofs, one after the other: the proof with all parameters of interest."""
        yield cls()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += Assume(~ResetSignal())
        always_steady(m, self.watch)
        self.build(m)
        return m

    def build(self, m: Module) -> None:
        raise NotImplementedError


def transfers(port: stream.Interface) -> Value:
    """An element transfers in this cycle."""
    return port.valid & port.ready


def always_steady(m: Module, free: Signal) -> None:
    """Assume a free value to be always the same."""
    before, started = Signal.like(free, name="before"), Signal(name="started")
    m.d.sync += [before.eq(free), started.eq(1)]
    with m.If(started):
        m.d.comb += Assume(free == before)


def counted(m: Module, happens: Value) -> Signal:
    """Number of times that something has happened before this cycle."""
    count = Signal(5, name="count")
    m.d.sync += count.eq(count + happens)
    return count


def demand_stable(m: Module, port: stream.Interface) -> None:
    """An element that is offered stays as it is until it is taken."""
    _stable(m, port, Assert)


def assume_stable(m: Module, port: stream.Interface) -> None:
    """A free source holds what it offers, as every stream's does."""
    _stable(m, port, Assume)


def _stable(m: Module, port: stream.Interface, must: Callable[[Value], Any]) -> None:
    payload = Value.cast(port.payload)
    waits, before = Signal(name="waits"), Signal(len(payload), name="before")
    m.d.sync += [waits.eq(port.valid & ~port.ready), before.eq(payload)]
    with m.If(waits):
        m.d.comb += [must(port.valid), must(payload == before)]


def demand_order(
    m: Module, watch: Signal, came: Value, given: Value, left: Value, taken: Value
) -> None:
    """The n-th element that leaves is the n-th one that came, for any n.

    Parameters
    ----------
    watch : Signal
        n.
    came, left : Value
        An element enters, one leaves.
    given, taken : Value
        Its bits.
    """
    entered, gone = counted(m, came), counted(m, left)
    held, seen = Signal(len(given), name="held"), Signal(name="seen")
    enters = came & (entered == watch)
    with m.If(enters):
        m.d.sync += [held.eq(given), seen.eq(1)]
    with m.If(left & (gone == watch)):
        with m.If(seen):
            m.d.comb += Assert(taken == held)
        with m.Else():
            m.d.comb += [Assert(enters), Assert(taken == given)]
    m.d.comb += Cover(left & (gone == 2) & (watch == 2))


def demand_patience(m: Module, owed: Value, given: Value, cycles: int) -> Signal:
    """Demand that what is owed comes within so many cycles in which it is owed.

    Returns
    -------
    Signal
        Cycles for which it has been owed before this one.
    """
    waited = Signal(range(cycles + 2), name="waited")
    with m.If(owed & ~given):
        m.d.sync += waited.eq(waited + 1)
    with m.Else():
        m.d.sync += waited.eq(0)
    m.d.comb += Assert(waited <= cycles)
    return waited
