"""Mutants of `tensor_input`."""

from .mutant import Mutant, bench, compiled, proved

__all__ = ["MUTANTS"]

_FILE = "hdl/tensor_input/tensor_input.py"

MUTANTS = (
    Mutant(
        "a tensor begins where the one that was given up stood in its beat",
        _FILE,
        "ResetInserter(restart)(Downsizer(BEAT // 4, lanes))",
        "Downsizer(BEAT // 4, lanes)",
        compiled("tensor_input", "two_lanes"),
    ),
    Mutant(
        "a unit sees the tensor of another one",
        _FILE,
        "user.x.valid.eq(unpacker.o.valid & mine)",
        "user.x.valid.eq(unpacker.o.valid)",
        bench("tensor_input", "four_lanes"),
    ),
    Mutant(
        "what the last beat holds beyond the tensor stays",
        _FILE,
        "source.ready.eq(unpacker.i.ready | through)",
        "source.ready.eq(unpacker.i.ready)",
        bench("tensor_input", "one_lane"),
    ),
    Mutant(
        "the second half of a tensor's last word is the next tensor's first one",
        "hdl/tensor_input/unpacker.py",
        "            m.d.sync += second.eq(0)\n",
        "",
        proved("unpacker"),
    ),
    Mutant(
        "a tensor that comes in requests is never missed",
        _FILE,
        "waits & (from_link | over & ~self.i_data.valid)",
        "waits & over & ~self.i_data.valid",
        bench("tensor_input", "two_lanes"),
    ),
)
