"""Random passes for the statistics unit."""

import random
from dataclasses import dataclass

import numpy as np
import torch

from adagrain.models.interface.formats import FORMATS, ElementFormat, FormatCode
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units.statistics import BINS, StatisticsRecord
from adagrain.models.statistics import FRACTION_BITS, statistics
from adagrain.sim.simulators.stimulus import Columns, Elements, Stimulus

from . import UnpackedStatistics

__all__ = ["Pass", "inputs", "random_pass", "stimuli"]


@dataclass(frozen=True)
class Pass:
    """A tensor, and how it is to be looked at; ``exponent`` is unbiased."""

    tensor: torch.Tensor
    code: FormatCode
    exponent: int
    histogram: bool

    def begin(self) -> dict[str, int]:
        """Fields of ``StatisticsBegin``."""
        return {
            "count": self.tensor.numel(),
            "format": int(self.code),
            "exponent": self.exponent + 127,
            "histogram": int(self.histogram),
        }

    def words(self, lanes: int) -> np.ndarray:
        """The tensor's memory as 32-bit words, zero-padded to whole beats."""
        raw = self.tensor.view(torch.uint8)
        padding = raw.new_zeros(-len(raw) % (4 * lanes))
        return torch.cat([raw, padding]).numpy().view(np.uint32)


def stimuli(unit: UnpackedStatistics, given: Pass) -> list[Stimulus]:
    """A pass and its record, and the histogram where it has one."""
    core = unit.unit
    wanted = statistics(
        given.tensor,
        given.exponent,
        powers=core.powers,
        histogram=given.histogram,
        kernel="reference",
    )
    made = [Stimulus(inputs(unit, given), {"o": [unpack(StatisticsRecord, wanted.record())]})]
    if wanted.histogram is not None:
        counts, energies = (np.array(column) for column in zip(*wanted.histogram, strict=True))
        bins = Columns({"count": counts, "energy": energies})
        made.append(Stimulus({"i_bin": range(BINS)}, {"o_bin": bins}))
    return made


def inputs(unit: UnpackedStatistics, given: Pass) -> dict[str, Elements]:
    """The stimulus of a pass."""
    return {
        "i_tensor": [{"count": given.tensor.numel(), "format": given.code}],
        "i_begin": [given.begin()],
        "i": Columns(list(given.words(unit.unit.lanes).reshape(-1, unit.unit.lanes).T)),
    }


def random_pass(
    generator: random.Random, formats: tuple[FormatCode, ...], longest: int, histogram: bool = True
) -> Pass:
    """A tensor of one of several kinds, in one of the formats; half with a histogram."""
    code = generator.choice(formats)
    count = generator.randrange(1, longest + 1)
    exponent = generator.choice([-126, 127, generator.randrange(-20, 20)])
    kind = generator.choice([_any_bits, _tiny, _normal, _near_halves, _ends])
    tensor = kind(generator, FORMATS[code], count, exponent)
    return Pass(tensor, code, exponent, histogram and generator.random() < 0.5)


def _any_bits(
    generator: random.Random, fmt: ElementFormat, count: int, exponent: int
) -> torch.Tensor:
    raw = bytearray(generator.randbytes(count * fmt.bits // 8))
    return torch.frombuffer(raw, dtype=fmt.dtype).clone()


def _tiny(generator: random.Random, fmt: ElementFormat, count: int, exponent: int) -> torch.Tensor:
    """So small that subnormals still count in the histogram's last bin."""
    raw = bytearray(generator.randbytes(count * fmt.bits // 8))
    upper = slice(fmt.bits // 8 - 1, None, fmt.bits // 8)
    most = generator.randrange(16, 20)
    raw[upper] = bytes(byte & 0x80 | (byte & 0x7F) % most for byte in raw[upper])
    return torch.frombuffer(raw, dtype=fmt.dtype).clone()


def _normal(
    generator: random.Random, fmt: ElementFormat, count: int, exponent: int
) -> torch.Tensor:
    """Normal numbers around some power of two, half of them or more replaced by zeros."""
    seeded = torch.Generator().manual_seed(generator.getrandbits(32))
    normal = torch.randn(count, generator=seeded) * 2.0 ** generator.randrange(-20, 20)
    kept = torch.rand(count, generator=seeded) < generator.choice([0.5, 0.25])
    return (normal * kept).to(fmt.dtype)


def _near_halves(
    generator: random.Random, fmt: ElementFormat, count: int, exponent: int
) -> torch.Tensor:
    """Halves of the shared exponent's unit, where rounding is decided, and their neighbours."""
    halves = torch.tensor(
        [generator.randrange(1 << generator.randrange(17)) + 0.5 for _ in range(count)]
    )
    near = (halves.double() * 2.0 ** (exponent - FRACTION_BITS)).to(fmt.dtype)
    words = near.view(torch.int32 if fmt.bits == 32 else torch.int16)
    words += torch.tensor(generator.choices([-1, 0, 1], k=count), dtype=words.dtype)
    signs = torch.tensor(generator.choices([1, -1], k=count), dtype=fmt.dtype)
    return words.view(fmt.dtype) * signs


def _ends(generator: random.Random, fmt: ElementFormat, count: int, exponent: int) -> torch.Tensor:
    """Numbers of one sign from one end of the format: huge ones, subnormals, or either."""
    top = (1 << fmt.exponent_bits) - 2
    fields = generator.choice([(top - 1, top), (top,), (0, 1), (0, top)])
    sign = generator.randrange(2) << (fmt.bits - 1)
    words = [
        sign | generator.choice(fields) << fmt.mantissa_bits | mantissa
        for mantissa in (generator.getrandbits(fmt.mantissa_bits) for _ in range(count))
    ]
    raw = b"".join(word.to_bytes(fmt.bits // 8, "little") for word in words)
    return torch.frombuffer(bytearray(raw), dtype=fmt.dtype).clone()
