"""The arithmetic of ``statistics`` in one compiled pass; bit-identical to the reference.

Blocks of elements are quantised with two exact multiplications by powers of two and one rounding
in FP32, whose default mode is to nearest even; a product that falls among FP32's subnormals is
far below ½ and rounds to 0 all the same, also where the processor is set to flush it. Sums of a
block fit int64, those of the tensor are Python integers: q⁴ is summed in two halves of 15 and 45
bits.
"""

import math
from collections.abc import Sequence
from functools import cache, partial

import numpy as np
import torch
from numba import njit

from adagrain.models.interface.formats import ElementFormat
from adagrain.models.interface.units.statistics import LARGEST_Q, RAW_BINS
from adagrain.models.numerics.addresses import floats_at

from .batch import CHUNK, THREADED, pool
from .reference import Sums
from .sums_kernel import add_bins, add_four_powers, add_two_powers

__all__ = [
    "BLOCK", "CLAMPED", "CLAMPED_MANTISSA", "FOUND", "NAN", "NEGATIVE", "NO_SUBNORMALS", "POSITIVE",
    "SUMS", "all_scales", "fused_sums", "merged", "quantise", "quantise_special", "run_parts",
    "scan_special",
]  # fmt: skip

#: Elements whose quantised values are kept in the first-level cache.
BLOCK = 2048

#: What a kernel finds besides the sums, by position.
NAN, POSITIVE, NEGATIVE, _ZERO, CLAMPED, _LOW, _HIGH = range(7)
#: How many these are, and how many sums.
FOUND, SUMS = 7, 5

#: Mantissa from which an element at the shared exponent is clamped: 32767.5 of 16384.
CLAMPED_MANTISSA = 0x7FFF00
#: Shared exponent, biased, from which all subnormals are below ½.
NO_SUBNORMALS = 16

_NO_BINS = np.zeros((RAW_BINS, 2), dtype=np.int64)

_FIELD = np.int32(0x7F800000)
_SMALLEST_NORMAL = np.int32(1 << 23)
_WORD = np.int32(0x7FFFFFFF)


@njit(cache=True, nogil=True)
def _scan(words, found):  # pragma: no cover - compiled
    """Count zeros; lowest and highest sort key, whatever the elements."""
    zero = np.int32(0)
    low = np.int32(0x7FFFFFFF)
    high = np.int32(-0x80000000)
    for i in range(words.size):
        key = np.int32(words[i] ^ np.int32(np.int32(words[i] >> np.int32(31)) & _WORD))
        zero += np.int32(np.int32(words[i] & _WORD) == 0)
        low = min(low, key)
        high = max(high, key)
    found[_ZERO] += zero
    return low, high


@njit(cache=True, nogil=True)
def scan_special(words, limit, found):  # pragma: no cover - compiled
    """Count what is not finite, or clamped; lowest and highest sort key of the finite elements."""
    nan, infinite, negative, large = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
    low = np.int32(0x7FFFFFFF)
    high = np.int32(-0x80000000)
    for i in range(words.size):
        magnitude = words[i] & _WORD
        key = words[i] ^ ((words[i] >> np.int32(31)) & _WORD)
        nan += np.int32(magnitude > _FIELD)
        infinite += np.int32(magnitude == _FIELD)
        negative += np.int32((magnitude == _FIELD) & (words[i] < 0))
        large += np.int32(magnitude >= limit)
        low = min(low, key if magnitude < _FIELD else np.int32(0x7FFFFFFF))
        high = max(high, key if magnitude < _FIELD else np.int32(-0x80000000))
    found[NAN] += nan
    found[POSITIVE] += infinite - negative
    found[NEGATIVE] += negative
    found[CLAMPED] += large - nan - infinite
    return low, high


@njit(cache=True, nogil=True)
def _quantise(values, scales, q):  # pragma: no cover - compiled
    """Elements that are normal or 0, and below the limit."""
    first, second = scales[0], scales[1]
    for i in range(values.size):
        q[i] = np.int32(np.rint(values[i] * first * second))


@njit(cache=True, nogil=True)
def quantise_special(words, values, scales, q):  # pragma: no cover - compiled
    """Any elements. Subnormals are scaled as integers: the processor may be set to flush them."""
    first, second, of_subnormals = scales[0], scales[1], scales[2]
    bound = np.float32(LARGEST_Q)
    for i in range(words.size):
        magnitude = words[i] & _WORD
        scaled = values[i] * first * second
        if magnitude < _SMALLEST_NORMAL:
            scaled = np.float32(magnitude if words[i] >= 0 else -magnitude) * of_subnormals
        if magnitude >= _FIELD:
            scaled = np.float32(0)
        q[i] = np.int32(np.rint(min(max(scaled, -bound), bound)))


@njit(cache=True, nogil=True)
def quantise(values, exponent, scales, q):  # pragma: no cover - compiled
    """Fill ``q`` with FP32 numbers quantised, 0 where one is not finite.

    Parameters
    ----------
    values : ndarray of float32
    exponent : int
        The shared one, biased.
    scales : ndarray of float32, (3,)
        As :func:`all_scales` has them for it.
    q : ndarray of int32
    """
    words = values.view(np.int32)
    largest = np.int32(0)
    for i in range(words.size):
        largest = max(largest, np.int32(words[i] & _WORD))
    if largest < np.int32(exponent << 23 | CLAMPED_MANTISSA) and exponent >= NO_SUBNORMALS:
        _quantise(values, scales, q)
    else:
        quantise_special(words, values, scales, q)


@njit(cache=True, nogil=True)
def _run(words, values, exponent, scales, powers, found, sums, bins):  # pragma: no cover - compiled
    """All of a chunk, block by block."""
    q = np.empty(BLOCK, dtype=np.int32)
    limit = np.int32(exponent << 23 | CLAMPED_MANTISSA)
    for start in range(0, words.size, BLOCK):
        end = min(start + BLOCK, words.size)
        block = q[: end - start]
        low, high = _scan(words[start:end], found)
        if max(high, ~low) < limit and exponent >= NO_SUBNORMALS:
            _quantise(values[start:end], scales, block)
        else:
            low, high = scan_special(words[start:end], limit, found)
            quantise_special(words[start:end], values[start:end], scales, block)
        found[_LOW] = min(found[_LOW], low)
        found[_HIGH] = max(found[_HIGH], high)
        if powers == 4:
            add_four_powers(block, sums)
        else:
            add_two_powers(block, sums)
        if bins.size:
            add_bins(words[start:end], bins)


@njit(cache=True, nogil=True)
def run_parts(parts, exponents, scales, powers, results):  # pragma: no cover - compiled
    """Parts of tensors, each at most a chunk: number of the tensor, address, elements."""
    no_bins = np.zeros(0, dtype=np.int64)
    for i in range(parts.shape[0]):
        exponent = exponents[parts[i, 0]]
        values = floats_at(parts[i, 1], parts[i, 2])
        words = values.view(np.int32)
        found, sums = results[i, :FOUND], results[i, FOUND:]
        found[_LOW], found[_HIGH] = 0x7FFFFFFF, -0x80000000
        _run(words, values, exponent, scales[exponent], powers, found, sums, no_bins)


def fused_sums(
    x: torch.Tensor, fmt: ElementFormat, exponent: int, powers: int, histogram: bool
) -> Sums:
    """As :func:`adagrain.models.statistics.reference.reference_sums`, fast.

    Large tensors are split over as many threads as torch is set to use.
    """
    values = x.to(torch.float32).numpy()
    run = partial(_part, exponent=exponent, powers=powers, histogram=histogram)
    threads = torch.get_num_threads()
    if len(values) < THREADED or threads == 1:
        parts = [run(values)]
    else:
        parts = list(pool(threads).map(run, np.array_split(values, threads)))
    rows, bins = zip(*parts, strict=True)
    found = merged(rows)
    if histogram:
        found["raw_bins"] = _raw_bins(np.sum(bins, axis=0), found["zero"])
    return found


def _part(
    values: np.ndarray, *, exponent: int, powers: int, histogram: bool
) -> tuple[list[int], np.ndarray]:
    """Results of one thread: ``found`` and the sums, and counts by the upper bits."""
    found = np.zeros(FOUND, dtype=np.int64)
    found[_LOW], found[_HIGH] = 0x7FFFFFFF, -0x80000000
    totals = [0] * SUMS
    bins = np.zeros(1 << 15 if histogram else 0, dtype=np.int64)
    words = values.view(np.int32)
    scales = _scales(exponent)
    for start in range(0, len(words), CHUNK):
        chunk = slice(start, start + CHUNK)
        sums = np.zeros(SUMS, dtype=np.int64)
        _run(words[chunk], values[chunk], exponent, scales, powers, found, sums, bins)
        totals = [total + value for total, value in zip(totals, sums.tolist(), strict=True)]
    return found.tolist() + totals, bins


def merged(rows: Sequence[list[int]]) -> Sums:
    """Results of the parts of a tensor, as one; without a histogram.

    Parameters
    ----------
    rows : sequence of lists
        Of each part, what was found and the sums.
    """
    row = rows[0] if len(rows) == 1 else [*map(sum, zip(*rows, strict=True))]
    nan, positive, negative, zero, clamped, low, high, s1, s2, s3, s4_low, s4_high = row
    if len(rows) > 1:
        low, high = min(row[_LOW] for row in rows), max(row[_HIGH] for row in rows)
    none_finite = low > high
    return {
        "nan": nan,
        "positive_infinity": positive,
        "negative_infinity": negative,
        "zero": zero,
        "saturated": clamped,
        "minimum": 0 if none_finite else _word(low),
        "maximum": 0 if none_finite else _word(high),
        "largest_exponent": 0 if none_finite else max(high, ~low) >> 23,
        "none_finite": int(none_finite),
        "s1": s1,
        "s2": s2,
        "s3": s3,
        "s4": s4_low + (s4_high << 15),
        "raw_bins": _NO_BINS,
    }


def _raw_bins(counts: np.ndarray, zero: int) -> np.ndarray:
    """Count and energy of each raw bin, from the counts by exponent and 7 significand bits."""
    counts[0] -= zero
    counts[_FIELD >> 16 :] = 0
    energies = counts.reshape(256, 128) * (np.arange(128) + 128) ** 2
    energies[0] = counts[:128] * np.arange(128) ** 2
    pairs = (counts.reshape(RAW_BINS, 64), energies.reshape(RAW_BINS, 64))
    return np.stack([pair.sum(axis=1) for pair in pairs], axis=1)


def _scales(exponent: int) -> np.ndarray:
    """Two powers of two whose product is 2^(14−E), both within FP32; that of a subnormal's unit."""
    shift = 14 - (exponent - 127)
    first = min(shift, 127)
    powers = (math.ldexp(1, n) for n in (first, shift - first, shift - 149))
    return np.fromiter(powers, dtype=np.float32)


@cache
def all_scales() -> np.ndarray:
    """Those of each biased exponent."""
    return np.stack([_scales(exponent) for exponent in range(255)])


def _word(key: int) -> int:
    """The FP32 word of a signed sort key."""
    return key if key >= 0 else (key ^ 0x7FFFFFFF) & 0xFFFFFFFF
