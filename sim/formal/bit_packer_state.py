"""Invariants of the bit packer: where its registers keep what has come and has not left."""

from typing import Any

from amaranth.hdl import Assert, Cat, Const, Elaboratable, Module, Mux, Signal, Value

from adagrain.hdl.codec.bit_packer import BitPacker

from .bit_packer_account import BitPackerAccount, bit_at

__all__ = ["BitPackerState"]


class BitPackerState(Elaboratable):
    """Ties the packer's registers to an account of its chunks, so that induction needs one step.

    From the output back there are four places: the word that leaves; the one that is begun, with
    the chunk that was shifted; the chunk that came; and what comes next. Each has the number of
    the word in which it begins: as many behind the last one that left as the stages between
    complete. A bit is in one of these places: the bit that is followed is what they have of it in
    all, and nothing else is there.

    Parameters
    ----------
    packer : BitPacker
        It must be elaborated before.
    account : BitPackerAccount
        Of its streams.
    waited : Signal
        Cycles for which a word was owed before.
    """

    def __init__(self, packer: BitPacker, account: BitPackerAccount, waited: Signal) -> None:
        self._packer, self._account, self._waited = packer, account, waited

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packer, account = self._packer, self._account
        registers = packer.registers
        chunk, shifted, fills = registers["chunk"], registers["shifted"], registers["fills"]
        came, was_shifted = registers["valid"]
        ends = [was_shifted & (shifted.fills | shifted.last), came & (fills | chunk.last)]
        words = [Signal.like(account.number, name=f"word_{n}") for n in range(2)]
        m.d.comb += [
            words[0].eq(account.number + packer.o.valid),
            words[1].eq(words[0] + ends[0]),
            Assert(account.complete == (words[1] + ends[1])[: len(account.complete)]),
            Assert(account.at == registers["at"]),
            Assert(packer.o.valid | (account.held == 0) | (self._waited <= ends[0])),
        ]
        self._places(m, registers)
        self._counts(m, registers, ends)
        self._follow(m, registers, words, ends)
        return m

    def _places(self, m: Module, registers: dict[str, Any]) -> None:
        """Chunks stand behind each other; what is not theirs is 0; an end has its padding."""
        chunk, shifted = registers["chunk"], registers["shifted"]
        at, at_chunk = registers["at"], registers["at_chunk"]
        came, was_shifted = registers["valid"]
        longest = len(chunk.bits)
        sent = Const((1 << longest) - 1) >> chunk.length
        padding = Cat(Const(0, longest - 7), ~(Const(127, 7) >> (-at_chunk)[:3])[:7])
        with m.If(came):
            with m.If(chunk.last):
                m.d.comb += [
                    Assert((chunk.length == 0) & ~registers["fills"] & (at == 0)),
                    Assert(chunk.bits == padding),
                ]
            with m.Else():
                m.d.comb += [
                    Assert(chunk.length <= longest),
                    Assert((chunk.bits & sent) == 0),
                    Assert(at_chunk + chunk.length == Cat(at, registers["fills"])),
                ]
        follows = Mux(came, at_chunk, at)
        with m.If(was_shifted):
            m.d.comb += Assert(shifted.byte == shifted.fill[3:])
            with m.If(shifted.last):
                m.d.comb += [
                    Assert(~shifted.fills & (follows == 0)),
                    Assert(shifted.bits[: longest - 1] == 0),
                ]
            with m.Else():
                length = Cat(follows, shifted.fills) - shifted.fill
                m.d.comb += Assert((length >= 0) & (length <= longest))

    def _counts(self, m: Module, registers: dict[str, Any], ends: list[Value]) -> None:
        """Bits that came are those that left, and those that the registers hold."""
        chunk, shifted, o = registers["chunk"], registers["shifted"], self._packer.o
        width = len(o.p.bits)
        held = (
            Mux(o.valid, Mux(o.p.last, o.p.fill, width), 0)
            + Mux(ends[0], Mux(shifted.last, shifted.fill, width), 0)
            + Mux(ends[1], Mux(chunk.last, registers["at_chunk"], width), 0)
            + registers["at"]
        )
        m.d.comb += Assert(self._account.bits_held == held)

    def _follow(
        self, m: Module, registers: dict[str, Any], words: list[Signal], ends: list[Value]
    ) -> None:
        """The bit that is followed stands where it belongs, and is 0 before its word is begun."""
        chunk, shifted, at_chunk = (registers[n] for n in ("chunk", "shifted", "at_chunk"))
        account, place = self._account, self._account.place
        came, was_shifted = registers["valid"]
        ahead = [Signal.like(account.word, name=f"ahead_{n}") for n in range(2)]
        m.d.comb += [ahead[n].eq(account.word - words[n]) for n in range(2)]
        in_chunk, in_shifted, begun = Signal(), Signal(), Signal()
        byte = Cat(Const(0, 3), shifted.byte)
        m.d.comb += [
            in_chunk.eq(
                (came & (ahead[1][1:] == 0))
                & bit_at(chunk.bits, Cat(place, ahead[1][0]) - at_chunk)
            ),
            in_shifted.eq(
                (was_shifted & (ahead[0][1:] == 0))
                & bit_at(shifted.bits, Cat(place, ahead[0][0]) - byte)
            ),
            begun.eq((ahead[0] == 0) & bit_at(registers["begun"], place)),
        ]
        behind = (account.word - account.number)[: len(account.word)]
        with m.If(behind > account.held):
            m.d.comb += Assert(~account.bit)
        with m.If((behind == account.held) & (place >= account.at)):
            m.d.comb += Assert(~account.bit)
        with m.If(~self._packer.o.valid | (account.word != account.number)):
            m.d.comb += Assert(account.bit == (in_chunk | in_shifted | begun))
        with m.If((ahead[0] == 1) & ~shifted.fills):
            m.d.comb += Assert(~in_shifted)
        for source, fill, ends_here, word in (
            (shifted, shifted.fill, ends[0], words[0]),
            (chunk, at_chunk, ends[1], words[1]),
        ):
            with m.If(ends_here & (word == account.word)):
                m.d.comb += Assert(account.ended == source.last)
                with m.If(source.last):
                    m.d.comb += [
                        Assert(account.fill == fill),
                        Assert(account.mark == Value.cast(source.mark)),
                    ]
