"""Invariants of the bit unpacker: where its registers keep what has come and is needed."""

from amaranth.hdl import Assert, Elaboratable, Module, Mux, Signal

from adagrain.hdl.codec.bit_unpacker import BitUnpacker

from .bit_unpacker_account import BitUnpackerAccount

__all__ = ["BitUnpackerState"]


class BitUnpackerState(Elaboratable):
    """Ties the unpacker's registers to an account of its groups and moves.

    The two halves hold the last two groups, if as many came. So the place is not before the first
    of them; nor is what may be shown before it, except between a look and its move.

    Parameters
    ----------
    unpacker : BitUnpacker
        It must be elaborated before.
    account : BitUnpackerAccount
        Of its groups and moves.
    looked : Signal
        A move follows.
    fast : Signal
        Neither groups nor looks have been waited for but for the first group.
    """

    def __init__(
        self, unpacker: BitUnpacker, account: BitUnpackerAccount, looked: Signal, fast: Signal
    ) -> None:
        self._unpacker, self._account = unpacker, account
        self._looked, self._fast = looked, fast

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unpacker, account, looked = self._unpacker, self._account, self._looked
        registers = unpacker.registers
        place, width = registers["place"], len(unpacker.i.payload)
        before, ahead = len(unpacker.before) - (width // 4 - 1), len(unpacker.ahead)
        m.d.comb += [
            Assert(place == account.place[: len(place)]),
            Assert(registers["fetched"] == account.end[:2]),
            Assert(registers["looked"] == looked),
            Assert(account.few <= 2),
            Assert((account.few == 2) | (account.end == account.few)),
            Assert(account.moved <= width),
        ]
        for stepped, kept in zip(registers["stepped"], account.kept, strict=True):
            with m.If(looked):
                m.d.comb += Assert(stepped == (place + kept)[: len(place)])

        shown = Mux(account.moved < before, account.moved, before)
        first = account.held + Mux(looked, 0, shown)  # bits that are needed, to the last one's end
        m.d.comb += [
            Assert(account.held >= ahead - width),
            Assert(first <= account.few * width),
        ]
        with m.If(looked & ~unpacker.complete):
            m.d.comb += Assert(account.held >= ahead)
        with m.If(self._fast):
            m.d.comb += Assert(account.held >= ahead)

        age = Signal.like(account.end)
        m.d.comb += age.eq(account.end - account.group)
        for ago in (1, 2):
            for number, half in enumerate(registers["halves"]):
                with m.If((age == ago) & (account.few >= ago) & (account.group[0] == number)):
                    m.d.comb += [
                        Assert(account.seen),
                        Assert((half << account.number)[width - 1] == account.bit),
                    ]
        return m
