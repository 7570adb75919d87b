"""Mutants of `link`."""

from .mutant import Mutant, bench, simulated

__all__ = ["MUTANTS"]

_LINK = bench("link", "tiny")

MUTANTS = (
    Mutant(
        "decoder loses the zero between blocks",
        "hdl/link/cobs_decoder.py",
        "self.o.valid.eq(zero_owed),",
        "self.o.valid.eq(zero_owed & started & (byte != 1)),",
        _LINK,
    ),
    Mutant(
        "decoder owes a zero after a full block",
        "hdl/link/cobs_decoder.py",
        "zero_owed.eq(byte != self._block + 1),",
        "zero_owed.eq(1),",
        _LINK,
    ),
    Mutant(
        "decoder keeps a block over a delimiter",
        "hdl/link/cobs_decoder.py",
        "                        remaining.eq(0),\n                        zero_owed.eq(0),",
        "                        zero_owed.eq(0),",
        _LINK,
    ),
    Mutant(
        "encoder writes an empty block after a full one",
        "hdl/link/cobs_encoder.py",
        "(filled == self._block - 1)",
        "(filled == self._block)",
        _LINK,
    ),
    Mutant(
        "checksum is not looked at",
        "hdl/link/frame_checker.py",
        "with m.Elif(~crc.match_detected):",
        "with m.Elif(~crc.match_detected & too_long):",
        _LINK,
    ),
    Mutant(
        "checksum is not started anew",
        "hdl/link/frame_checker.py",
        "crc.start.eq(self.i.valid & self.i.ready & self.i.p.end)",
        "crc.start.eq(self.i.valid & self.i.ready & self.i.p.end & ~self.i.p.damaged)",
        _LINK,
    ),
    Mutant(
        "a frame one byte too long passes",
        "hdl/link/frame_checker.py",
        "self._longest = HEADER_SIZE + payload + CHECKSUM_SIZE\n",
        "self._longest = HEADER_SIZE + payload + CHECKSUM_SIZE + 1\n",
        _LINK,
    ),
    Mutant(
        "dropped bytes stay in the packet queue",
        "hdl/link/packet_queue.py",
        "tail.eq(next_head + 1)",
        "tail.eq(tail + 1)",
        _LINK,
    ),
    Mutant(
        "a byte that waits in the packet queue is overwritten",
        "hdl/link/packet_queue.py",
        "with m.If(elastic(m, read, self.o, 1)):",
        "with m.If(elastic(m, read, self.o, 1) | self.o.valid):",
        simulated("test_link.py", "queue"),
    ),
    Mutant(
        "a repeat is executed again",
        "hdl/link/session.py",
        "with m.If((age != 0) & (age <= kept)):",
        "with m.If((age != 0) & (age < kept)):",
        _LINK,
    ),
    Mutant(
        "a new session remembers the old one's replies",
        "hdl/link/session.py",
        "expected.eq(0), kept.eq(0)]",
        "expected.eq(0)]",
        _LINK,
    ),
    Mutant(
        "a reply's slot is written while it is sent",
        "hdl/link/session.py",
        "slot_free.eq(self.o.ready | (slot != slot_sent))",
        "slot_free.eq(1)",
        bench("link", "single"),
    ),
    Mutant(
        "a refusal does not say what is expected",
        "hdl/link/session.py",
        "                m.d.sync += header.sequence.eq(expected)\n",
        "",
        _LINK,
    ),
)
