"""The public models under autocast and where subnormal numbers are flushed: the same bits."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from adagrain.models.arithmetic.float import add, convert, multiply
from adagrain.models.codec import encode, with_mantissa_bits
from adagrain.models.dot_product import dot
from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.magnitude import absmax
from adagrain.models.numerics.matmul import matmul, reference
from adagrain.models.numerics.matrices import DTYPES
from adagrain.models.numerics.normalised_variance import exponent_of, normalised_variance_of
from adagrain.models.numerics.quantisation import multiplied, operand, product, rounded, scale_of
from adagrain.models.numerics.stochastic_rounding import stochastically_rounded
from adagrain.models.rescale import rescale
from adagrain.models.statistics import statistics

FP32, FP16 = Precision.FP32.fmt, Precision.FP16.fmt


@contextmanager
def flushing() -> Iterator[None]:
    """Subnormal numbers are zeros, and still are behind what is tested."""
    assert torch.set_flush_denormal(True)
    try:
        yield
        assert torch.tensor(1e-40).mul(1.0).item() == 0
    finally:
        torch.set_flush_denormal(False)


SURROUNDINGS = {
    "bfloat16 autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "float16 autocast": lambda: torch.autocast("cpu", torch.float16),
    "flushing": flushing,
}


def numbers(*shape: int, seed: int, low: int = -149, high: int = 4) -> torch.Tensor:
    """Of any size down to the smallest one, in float32; finite."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(low, high, shape)
    return torch.from_numpy(values.astype(np.float32))


def of_precision(*shape: int, precision: Precision, seed: int) -> torch.Tensor:
    if not precision.integer:
        low = -68 if precision is Precision.FP32 else -26  # whose sums are subnormal
        return numbers(*shape, seed=seed, low=low, high=low + 4).to(DTYPES[precision])
    reach = 1 << (precision.bits - 1)
    return torch.from_numpy(np.random.default_rng(seed).integers(-reach, reach, shape)).char()


X, WEIGHT = numbers(9, 40, seed=1), numbers(7, 40, seed=2)
MODERATE = numbers(9, 40, seed=3, low=-75)
TINY = numbers(300, 900, seed=7, high=-128)
STREAMED = X, X.half(), X.bfloat16()
CODED = TINY.bfloat16(), X.bfloat16()
WORDS = np.random.default_rng(4).integers(0, 1 << 32, (2, 50, 6))

ENTRIES: dict[str, Callable[[], Any]] = {
    "dot": lambda: [dot(*WORDS, precision) for precision in Precision],
    "float": lambda: [f(*WORDS, FP32) for f in (add, multiply)] + [*convert(WORDS[0], FP32, FP16)],
    "rescale": lambda: rescale(WORDS[0], Precision.FP32, np.array(-100), Precision.FP32),
    "absmax": lambda: absmax(TINY, (1,)),
    "codec": lambda: [encode([with_mantissa_bits(x, 3) for x in CODED])],
    "exponent_of": lambda: exponent_of(X),
    "normalised_variance_of": lambda: normalised_variance_of(statistics(X, exponent_of(X))),
}
for _precision in Precision:
    _a, _b = (of_precision(*s, precision=_precision, seed=5) for s in ((9, 40), (40, 7)))
    _long = [of_precision(*s, precision=_precision, seed=6) for s in ((2, 1500), (1500, 3))]
    ENTRIES |= {
        f"matmul {_precision.name}": lambda a=_a, b=_b, p=_precision: matmul(a, b, p),
        f"long matmul {_precision.name}": lambda ab=_long, p=_precision: matmul(*ab, p),
        f"reference {_precision.name}": lambda a=_a, b=_b, p=_precision: reference(a, b, p),
        f"product {_precision.name}": lambda p=_precision: [
            product(x, w, p) for x, w in ((X, WEIGHT), (MODERATE, MODERATE))
        ],
        f"rounded {_precision.name}": lambda p=_precision: [rounded(x, p) for x in (X, MODERATE)],
        f"multiplied {_precision.name}": lambda p=_precision: multiplied(
            operand(X, p), operand(WEIGHT, p, along=(1,))
        ),
    }
    if _precision.integer:
        ENTRIES |= {
            f"scale_of {_precision.name}": lambda p=_precision: scale_of(MODERATE, p, along=(1,)),
            f"stochastic {_precision.name}": lambda p=_precision: stochastically_rounded(TINY, p),
        }
for _kernel in ("fused", "reference"):
    ENTRIES[f"statistics {_kernel}"] = lambda k=_kernel: [
        statistics(x, e, histogram=True, kernel=k) for x in STREAMED for e in (-126, 0, None)
    ]


def bits(found: Any) -> Any:
    """Results that can be compared bit by bit."""
    if isinstance(found, torch.Tensor):
        return found.dtype, found.shape, found.numpy().tobytes()
    if isinstance(found, np.ndarray):
        return found.tobytes()
    return [bits(part) for part in found] if isinstance(found, list | tuple) else found


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_surroundings_change_no_bit(entry: str, surrounding: str) -> None:
    wanted = bits(ENTRIES[entry]())
    with SURROUNDINGS[surrounding]():
        found = bits(ENTRIES[entry]())
    assert found == wanted


#: Small numbers whose squares, subnormal ones, decide between two scales of the large ones.
SCRIPT = """
import torch
from adagrain.models.numerics.quantisation import scale_of
step = 2.0**-59 / (0.335 * 2**0.5)
large = (4 * (1 - 4e-4)) ** 0.5 * step
x = torch.full((1 << 19,), 2.0**-63.1)
x[::4] = large
{}
print(x.numel(), scale_of(x, "INT4").item() == 2.0**-59)
"""


@pytest.mark.parametrize(
    "setting", ["", "torch.set_flush_denormal(True); torch.set_num_threads(2)"]
)
def test_threads_that_flush_change_no_scale(setting: str) -> None:
    """PyTorch's threads keep what was set before they were started."""
    outcome = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(setting)], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.split() == [str(1 << 19), "True"]
