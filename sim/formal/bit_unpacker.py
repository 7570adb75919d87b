"""The bit unpacker: what it shows is what came, at any place, for all time."""

from collections.abc import Iterator
from typing import Self

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, connect, flipped
from amaranth.utils import exact_log2

from adagrain.hdl.codec.bit_unpacker import BitUnpacker
from adagrain.hdl.codec.layouts import CODED_BYTES, TAIL_BITS
from adagrain.models.interface.codec import LONGEST_CODE

from .bit_unpacker_account import GROUP_BITS, BitUnpackerAccount
from .bit_unpacker_state import BitUnpackerState
from .harness import Proof, always_steady, assume_stable, transfers

__all__ = ["BitUnpackerProof", "BuiltBitUnpackerProof"]


class BitUnpackerProof(Proof):
    """A bit is shown as it came wherever it is shown, and a turn never waits without need.

    Groups come, looks are asked for, and moves go, whenever they want; all begins anew at any time,
    with a look at the group that comes or without one.
    The free ports ``group`` and ``number`` choose what :class:`BitUnpackerAccount` follows: any one
    bit of every eighth group, and so each bit of all groups. Counted modulo eight groups, places
    are not confused, since the place is at most two groups before the last one's end and less than
    one behind it: asserted, too.

    The bits that came are those that were passed and those that are held.

    Parameters
    ----------
    width, before, ahead : int
        As those of :class:`BitUnpacker`.
    """

    DEPTH = 12
    INDUCTION = 1
    MUTANT = (
        "hdl/codec/bit_unpacker.py",
        "only & (looked | (self.at >= self._before))",
        "only & (looked | (self.at >= self._before - 1))",
    )

    def __init__(self, width: int = 8, before: int = 4, ahead: int = 2) -> None:
        self._width, self._before, self._ahead = width, before, ahead
        super().__init__(
            {
                "i": In(stream.Signature(width)),
                "restart": In(1),
                "complete": In(1),
                "asked": In(1),
                "first": In(range(width)),
                "other": In(range(width)),
                "second": In(1),
                "size": In(range(width)),
                "group": In(GROUP_BITS),
                "number": In(range(width)),
            }
        )

    @classmethod
    def variants(cls) -> Iterator[Self]:
        for width, before, ahead in ((8, 4, 2), (16, 7, 5)):
            yield cls(width, before, ahead)

    def build(self, m: Module) -> None:
        unpacker = BitUnpacker(self._width, self._before, self._ahead)
        account = BitUnpackerAccount(self._width, self._before)
        looked, fast = Signal(), Signal()
        shows = unpacker.valid & ~looked
        m.submodules.unpacker, m.submodules.account = unpacker, account
        m.submodules.state = BitUnpackerState(unpacker, account, looked, fast)
        connect(m, flipped(self.i), unpacker.i)
        for chosen in (self.group, self.number):
            always_steady(m, chosen)
        assume_stable(m, self.i)
        was_complete = Signal()
        m.d.comb += [
            unpacker.restart.eq(self.restart),
            unpacker.complete.eq(self.complete),
            unpacker.look.eq(self.asked & Mux(self.restart, self.i.valid, shows)),
            unpacker.steps[0].eq(self.first),
            unpacker.steps[1].eq(self.other),
            unpacker.move.eq(looked),
            unpacker.second.eq(self.second),
            unpacker.size.eq(self.size),
            account.group.eq(self.group),
            account.number.eq(self.number),
            account.came.eq(transfers(self.i)),
            account.bits.eq(self.i.payload),
            account.looked.eq(unpacker.look),
            account.steps.eq(unpacker.steps),
            account.moves.eq(looked),
            account.second.eq(self.second),
            account.size.eq(self.size),
            account.restart.eq(self.restart),
            Assume(~was_complete | self.complete),
            Assume(~self.complete | self.restart | ~self.i.valid),
            Assume(~self.complete | (account.held >= 0)),
            Assume(~looked | (account.total <= self._width)),
        ]
        m.d.sync += [
            looked.eq(unpacker.look),
            was_complete.eq(self.complete & ~self.restart),
        ]
        with m.If(self.restart):
            m.d.comb += Assert(unpacker.ahead == self.i.payload[-self._ahead :])
        self._demand_bits(m, unpacker, account, shows)
        self._demand_progress(m, unpacker, account, looked, fast)
        far = Signal()  # the third group was begun
        with m.If(account.place[exact_log2(self._width) :] == 2):
            m.d.sync += far.eq(1)
        m.d.comb += Cover(unpacker.look & far & account.bit & ~self.complete)
        m.d.comb += Cover(unpacker.look & far & self.complete & (account.held == 0))
        m.d.comb += Cover(unpacker.look & far & (account.place == 1))
        m.d.comb += Cover(unpacker.look & far & self.restart)

    def _demand_bits(
        self, m: Module, unpacker: BitUnpacker, account: BitUnpackerAccount, shows: Value
    ) -> None:
        """Bits that came are shown, on either side of the place; and as many are held."""
        before = unpacker.before >> unpacker.excess
        with m.If(shows):
            m.d.comb += Assert(self.complete | (account.held >= self._ahead))
        for n in range(self._ahead):
            with m.If(shows & (n < account.held) & (account.beyond == n)):
                shown = self.restart | (unpacker.ahead[-1 - n] == account.bit)
                m.d.comb += [Assert(account.seen), Assert(shown)]
        for n in range(self._before):
            with m.If(shows & (n < account.moved) & (account.beyond == -1 - n)):
                m.d.comb += [Assert(account.seen), Assert(before[n] == account.bit)]
        m.d.comb += Assert(account.held == (unpacker.held * self._width - unpacker.at))

    def _demand_progress(
        self,
        m: Module,
        unpacker: BitUnpacker,
        account: BitUnpackerAccount,
        looked: Signal,
        fast: Signal,
    ) -> None:
        """It takes a group where it has to wait; where groups and looks come at once, and moves are
        no longer than what it does not show ahead, it waits for the first group only, and not even
        for that where the restart has looked at it.
        """
        with m.If(~unpacker.valid & ~looked & ~self.complete & ~self.restart):
            m.d.comb += Assert(self.i.ready)
        always, started = Signal(init=1), Signal()
        short = ~looked | (account.total <= self._width - self._ahead)
        m.d.sync += [
            always.eq(always & self.i.valid & short & (looked | ~unpacker.valid | self.asked)),
            started.eq(started | unpacker.valid),
        ]
        with m.If(self.restart):
            m.d.sync += [always.eq(1), started.eq(unpacker.look)]
        m.d.comb += fast.eq(always & started)
        with m.If(fast & ~looked):
            m.d.comb += Assert(unpacker.valid)


class BuiltBitUnpackerProof(BitUnpackerProof):
    """The same of the decoder's unpacker."""

    MUTANT = (
        "hdl/codec/bit_unpacker.py",
        "self.at <= self._width - self._ahead",
        "self.at <= self._width - min(self._ahead, 11)",
    )

    @classmethod
    def variants(cls) -> Iterator[Self]:
        yield cls(8 * CODED_BYTES, TAIL_BITS, LONGEST_CODE)
