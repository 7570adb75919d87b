"""Words for the slice in modes that change from one pair to the next, and the model's results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from adagrain.models.interface.precision import WORD_BITS, Operation, Precision, packed
from adagrain.models.slice import LANES, compute
from adagrain.sim.benches.float.traffic import arithmetic_operands, raised
from adagrain.sim.simulators.stimulus import Columns, Stimulus

__all__ = ["Pairs", "random_words"]

Words = NDArray[np.int64]

Kind = tuple[Precision, Operation]

#: All that a slice can be asked for.
KINDS: list[Kind] = [(p, o) for p in Precision for o in Operation]


@dataclass(frozen=True)
class Pairs:
    """Pairs of words, each with a precision and an operation.

    Parameters
    ----------
    kinds : list of (Precision, Operation)
        What is asked for.
    kind : array of int64
        Of each pair, which of these.
    a, b : array of int64
        Words.
    """

    kinds: Sequence[Kind]
    kind: Words
    a: Words
    b: Words

    @classmethod
    def random(cls, count: int, rng: np.random.Generator) -> Self:
        """So many pairs of all precisions and operations mixed."""
        kind = rng.integers(0, len(KINDS), count)
        a, b = np.zeros((2, count), dtype=np.int64)
        for number, (precision, _) in enumerate(KINDS):
            chosen = kind == number
            a[chosen], b[chosen] = random_words(precision, int(chosen.sum()), rng)
        return cls(KINDS, kind, a, b)

    @classmethod
    def of(
        cls, precision: Precision, operation: Operation, count: int, rng: np.random.Generator
    ) -> Self:
        """So many pairs of one precision and operation."""
        kind = np.zeros(count, dtype=np.int64)
        return cls([(precision, operation)], kind, *random_words(precision, count, rng))

    def stimulus(self) -> Stimulus:
        """The stimulus: what goes in and what comes out."""
        modes, operations = (np.array(column) for column in zip(*self.kinds, strict=True))
        given = {"a": self.a, "b": self.b}
        given |= {"mode": modes[self.kind], "operation": operations[self.kind]}
        lanes = np.zeros((len(self.kind), LANES), dtype=np.int64)
        flags = np.zeros((len(self.kind), Precision.FP16.lanes), dtype=np.int64)
        for number, kind in enumerate(self.kinds):
            chosen = self.kind == number
            lanes[chosen], flags[chosen] = compute(self.a[chosen], self.b[chosen], *kind)
        results = {"lanes": list(lanes.T), "flags": [raised(column) for column in flags.T]}
        return Stimulus({"i": Columns(given)}, {"o": Columns(results)})


def random_words(precision: Precision, count: int, rng: np.random.Generator) -> list[Words]:
    if precision.integer:
        words = rng.integers(0, 1 << WORD_BITS, (2, count))
        lowest = 0x8080_8080 if precision is Precision.INT8 else 0x8888_8888
        return list(np.where(rng.integers(0, 8, (2, count)) == 0, lowest, words))
    numbers = arithmetic_operands(precision.fmt, count * precision.lanes, rng)
    return [packed(column.reshape(count, precision.lanes), precision) for column in numbers]
