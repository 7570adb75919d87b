"""``difference``: one pass over two tensors."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from .operation import Operation, Payload
from .register import Register
from .tensor_input import TENSOR_FIELDS
from .unit import Unit

__all__ = ["DIFFERENCE", "DifferenceBegin", "DifferenceOpcode", "DifferenceRecord"]

#: Start of a pass over two tensors, whose elements come in turn. ``exponent`` is the shared
#: exponent E, biased by 127 (1…254).
DifferenceBegin = data.StructLayout(
    {
        **TENSOR_FIELDS,  # of both tensors: the count is twice that of the pairs
        "exponent": unsigned(8),
        "from_link": unsigned(1),  # they come in requests, not by the data port
        "_reserved": unsigned(15),
    }
)

#: Result of a pass over a guess a and the truth b. Pairs with an element that is not finite are
#: in ``count``, ``non_finite`` and ``bitwise_equal`` alone.
DifferenceRecord = data.StructLayout(
    {
        "count": unsigned(32),  # pairs
        "non_finite": unsigned(32),  # pairs
        "saturated": unsigned(32),  # elements
        "sum_squared": unsigned(64),  # Σ(qa−qb)²
        "sum_absolute": unsigned(64),  # Σ|qa−qb|
        "energy": unsigned(64),  # Σqb²
        "sum_magnitude": unsigned(64),  # Σ|qb|
        "largest": unsigned(32),  # max|qa−qb|
        "absmax": unsigned(32),  # max|qb|
        "exponent": unsigned(8),  # the E of the pass
        "bitwise_equal": unsigned(1),  # no word of a differs from that of b
        "_reserved": unsigned(7),
    }
)


class DifferenceOpcode(enum.IntEnum):
    """Operations of ``difference``."""

    BEGIN = 0x50
    END = 0x52


DIFFERENCE = Unit(
    name="difference",
    group=5,
    about="how far a guessed tensor is from the true one, in exact sums, in one pass",
    operations=(
        Operation(DifferenceOpcode.BEGIN, Payload(DifferenceBegin), Payload(), "begins a pass"),
        Operation(
            DifferenceOpcode.END,
            Payload(),
            Payload(DifferenceRecord),
            "ends the pass, when all elements are in",
        ),
    ),
    registers=(Register("pairs", "pairs of all passes that have ended", bits=64, sums="count"),),
    records={"DifferenceBegin": DifferenceBegin, "DifferenceRecord": DifferenceRecord},
    tensors=("a", "b"),
    passes=(DifferenceOpcode.BEGIN, DifferenceOpcode.END),
    core="adagrain.hdl.difference:Difference",
    trial={"exponent": 127},
    twin="adagrain.models.difference:DifferenceCommands",
)
