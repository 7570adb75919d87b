"""Pairs of tensors for the difference unit, alike, close or strangers, and the model's records."""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch

from adagrain.hdl.difference import Difference
from adagrain.models.difference import difference
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units.difference import DifferenceBegin, DifferenceRecord
from adagrain.sim.benches.statistics.traffic import random_pass
from adagrain.sim.simulators.stimulus import Stimulus, random_elements

__all__ = ["Pass", "beats", "begin", "passes", "random_passes", "record", "tensor"]

#: Guess, truth and their exponent, unbiased.
Pass = tuple[torch.Tensor, torch.Tensor, int]

#: Longest tensors.
LONGEST = 120


def random_passes(unit: Difference, count: int, generator: Random) -> Stimulus:
    """So many passes back to back."""
    return passes(unit, [random_pair(generator) for _ in range(count)], generator)


def random_pair(generator: Random) -> Pass:
    """Two tensors of a length, and their exponent: alike, nearly so, close, or strangers."""
    truth = random_pass(generator, (FormatCode.FP32,), LONGEST)
    words = words_of(truth.tensor)
    at = generator.randrange(len(words))
    other = words_of(random_pass(generator, (FormatCode.FP32,), LONGEST).tensor)
    match generator.randrange(5):
        case 0:  # alike
            pass
        case 1:  # but for one bit
            words[at] ^= 1 << generator.randrange(32)
        case 2:  # but for the lower bits
            words = [word ^ generator.getrandbits(24) for word in words]
        case 3:  # of the other sign
            words = [word ^ 1 << 31 for word in words]
        case _:
            words = [generator.choice(other) for _ in words]
    return tensor(words), truth.tensor, truth.exponent


def passes(unit: Difference, given: Sequence[Pass], generator: Random) -> Stimulus:
    """Passes and their records."""
    begins = [begin(exponent, generator) for *_, exponent in given]
    elements = [beat for guess, truth, _ in given for beat in beats(unit, guess, truth, generator)]
    return Stimulus({"i_begin": begins, "i": elements}, {"o": [record(*one) for one in given]})


def begin(exponent: int, generator: Random) -> dict[str, int]:
    """The record that begins a pass; the unit does not look at the other fields."""
    (noise,) = random_elements(DifferenceBegin, 1, generator)
    return {**noise, "exponent": exponent + 127}


def beats(
    unit: Difference, guess: torch.Tensor, truth: torch.Tensor, generator: Random
) -> list[dict[str, Any]]:
    """Elements in turn, in beats; noise in lanes that hold none."""
    words = words_of(torch.stack([guess, truth], dim=1).reshape(-1))
    found = []
    for start in range(0, len(words), unit.lanes):
        some = words[start : start + unit.lanes]
        noise = [generator.getrandbits(32) for _ in range(unit.lanes - len(some))]
        keep, last = (1 << len(some)) - 1, int(start + unit.lanes >= len(words))
        found.append({"data": some + noise, "keep": keep, "last": last})
    return found


def record(guess: torch.Tensor, truth: torch.Tensor, exponent: int) -> dict[str, int]:
    """The model's."""
    found = difference(guess, truth, exponent, kernel="reference")
    return unpack(DifferenceRecord, found.record())


def tensor(words: list[int]) -> torch.Tensor:
    """FP32 elements by their words."""
    return torch.tensor(words, dtype=torch.int64).to(torch.int32).view(torch.float32)


def words_of(x: torch.Tensor) -> list[int]:
    """The words of FP32 elements."""
    return [word & 0xFFFF_FFFF for word in x.view(torch.int32).tolist()]
