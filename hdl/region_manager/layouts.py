"""Layouts and signatures between the parts of the Region Manager."""

import enum

from amaranth.hdl import Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import Out

from adagrain.hdl.checks import check_integer
from adagrain.models.interface.units.ranges import First
from adagrain.models.interface.units.region_manager import (
    RegionParameters,
    RegionRecord,
)
from adagrain.models.region_manager.averages import LOGARITHM_BITS

__all__ = [
    "HEAD_WORDS",
    "LEVEL_BITS",
    "RECORD_WORDS",
    "WORD_BITS",
    "WORD_NUMBER",
    "Head",
    "Intake",
    "Places",
    "RunSignature",
    "Stage",
    "SumsIntake",
    "Word",
    "WordStream",
    "check_regions",
    "in_pair",
    "is_input",
    "is_number",
]

WORD_BITS = 64
RECORD_WORDS = RegionRecord.size // WORD_BITS

#: Shape of a :class:`Word`.
WORD_NUMBER = unsigned(4)

#: Bits of the logarithm of a region's N: of its octaves, and below.
LEVEL_BITS = 10 + LOGARITHM_BITS

#: Words of a record that hold its small fields; they are kept in registers while it is decided.
HEAD_WORDS = 2

#: The fields in those words.
Head = data.StructLayout(
    {name: field.shape for name, field in RegionRecord if field.offset < HEAD_WORDS * WORD_BITS}
)


def check_regions(regions: int) -> None:
    """Make sure that a table can have so many regions: 1 to 8192, all of whose words have a number.

    Raises
    ------
    TypeError, ValueError
        If it cannot.
    """
    check_integer("regions", regions, 1, (1 << First.size) // RECORD_WORDS)


class Word(enum.IntEnum):
    """Wide words: six of a record, at these places in it, the run's averages, and what comes in.

    Neighbours make a pair, the even one first: two numbers that are compared with each other. The
    last two pairs are one number each, of which the logarithm is taken.
    """

    STALL = 2
    REDO = 3
    N_FAST = 4
    N_SLOW = 5
    A_SUM = 6
    N_SUM = 7
    LOSS_FAST = 8
    LOSS_SLOW = 9
    A = 10
    N = 11
    N_LEVEL = 12
    LOSS_LEVEL = 14


def in_pair(word: Value, even: Word) -> Value:
    """The word belongs to the pair that begins with ``even``."""
    return word[1:] == even >> 1


def is_input(word: Value) -> Value:
    """The word comes in with an update or a step."""
    return word >= Word.A


def is_number(word: Value) -> Value:
    """The word is the number of a logarithm."""
    return word >= Word.N_LEVEL


#: A word and what is, or will be, in it. Whoever is told so takes it at once.
WordStream = stream.Signature(
    data.StructLayout({"word": WORD_NUMBER, "data": unsigned(WORD_BITS)}), always_ready=True
)

#: A word on its way through a stage of the pipeline, and whether it is averaged.
Stage = data.StructLayout({"word": WORD_NUMBER, "valid": unsigned(1), "average": unsigned(1)})

#: Places of the highest one: in pairs that are normalised together, and in the number of a
#: logarithm.
Places = data.StructLayout(dict.fromkeys(("times", "sums", "energies", "number"), unsigned(6)))

#: How averages take in a value: they start from it (``fresh``), or stay as they are (``hold``,
#: which goes first).
Intake = data.StructLayout({"fresh": unsigned(1), "hold": unsigned(1)})

#: How sums do, which shrink before by two bits for each octave in ``rescale``, −7…7, and by one
#: more where they are to be halved.
SumsIntake = data.StructLayout({**dict(Intake.members), "rescale": signed(4), "halve": unsigned(1)})


class RunSignature(wiring.Signature):
    """State of a run, as far as it matters to its regions.

    Members
    -------
    parameters : ``Out(RegionParameters)``
        The parameters, with the loss averages and the decision epoch of now.
    loss_rate : ``Out(signed(16))``
        By how many octaves the fast average is below the slow one, Q5.10.
    alarm : ``Out(1)``
        The loss has risen above the guard.
    """

    def __init__(self) -> None:
        super().__init__(
            {"parameters": Out(RegionParameters), "loss_rate": Out(signed(16)), "alarm": Out(1)}
        )
