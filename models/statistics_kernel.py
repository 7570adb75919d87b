"""The arithmetic of ``statistics`` in one compiled pass; bit-identical to the reference.

Blocks of elements are quantised with two exact multiplications by powers of two and one rounding
in FP32, whose default mode is to nearest even; a product that falls among FP32's subnormals is
far below ½ and rounds to 0 all the same. Sums of a block fit int64, those of the tensor are
Python integers: q⁴ is summed in two halves of 15 and 45 bits.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
import torch
from numba import njit

from .formats import ElementFormat
from .statistics_reference import LARGEST_Q, RAW_BINS, Sums

__all__ = ["fused_sums"]

#: Elements whose quantised values are kept in the first-level cache.
_BLOCK = 2048
#: Elements after which the sums, below 2**45 each, leave int64, and packed bins are unpacked.
_CHUNK = 1 << 17
#: Tensors of fewer elements are not worth a second thread.
_THREADED = 1 << 16

#: What a kernel finds besides the sums, by position.
_NAN, _POSITIVE, _NEGATIVE, _ZERO, _CLAMPED, _LOW, _HIGH, _MAGNITUDE = range(8)

#: Mantissa from which an element at the shared exponent is clamped: 32767.5 of 16384.
_CLAMPED_MANTISSA = 0x7FFF00

_FIELD = np.int32(0x7F800000)
_WORD = np.int32(0x7FFFFFFF)


@njit(cache=True, nogil=True)
def _scan(words, found):  # pragma: no cover - compiled
    """Merge sort keys and largest magnitude of a block, all of them finite, and count zeros."""
    zero = np.int32(0)
    low = np.int32(0x7FFFFFFF)
    high = np.int32(-0x80000000)
    for i in range(words.size):
        key = words[i] ^ ((words[i] >> np.int32(31)) & _WORD)
        zero += np.int32((words[i] & _WORD) == 0)
        low = min(low, key)
        high = max(high, key)
    found[_ZERO] += zero
    found[_LOW] = min(found[_LOW], low)
    found[_HIGH] = max(found[_HIGH], high)


@njit(cache=True, nogil=True)
def _largest(words):  # pragma: no cover - compiled
    largest = np.int32(0)
    for i in range(words.size):
        largest = max(largest, words[i] & _WORD)
    return largest


@njit(cache=True, nogil=True)
def _quantise(values, scales, q):  # pragma: no cover - compiled
    """Elements that are finite and far enough below the limit."""
    first, second = scales[0], scales[1]
    for i in range(values.size):
        q[i] = np.int32(np.rint(values[i] * first * second))


@njit(cache=True, nogil=True)
def _scan_and_quantise(words, values, scales, q, found):  # pragma: no cover - compiled
    """Both, element by element, for a block with special or clamped elements."""
    first, second, limit = scales[0], scales[1], np.float32(LARGEST_Q + 0.5)
    for i in range(words.size):
        if (words[i] & _WORD) >= _FIELD:
            q[i] = 0
            if (words[i] & _WORD) > _FIELD:
                found[_NAN] += 1
            else:
                found[_POSITIVE if words[i] > 0 else _NEGATIVE] += 1
        else:
            _scan(words[i : i + 1], found)
            found[_MAGNITUDE] = max(found[_MAGNITUDE], words[i] & _WORD)
            scaled = values[i] * first * second
            found[_CLAMPED] += abs(scaled) >= limit
            bound = np.float32(LARGEST_Q)
            q[i] = np.int32(np.rint(min(max(scaled, -bound), bound)))


@njit(cache=True, nogil=True)
def _add_powers(q, sums):  # pragma: no cover - compiled
    s1 = np.int64(0)
    s2 = np.int64(0)
    for i in range(q.size):
        s1 += q[i]
        s2 += np.int64(q[i]) * np.int64(q[i])
    sums[0] += s1
    sums[1] += s2


@njit(cache=True, nogil=True)
def _add_high_powers(q, sums):  # pragma: no cover - compiled
    s3 = np.int64(0)
    low = np.int64(0)
    high = np.int64(0)
    for i in range(q.size):
        square = q[i] * q[i]
        s3 += np.int64(square) * np.int64(q[i])
        low += np.int64(square) * np.int64(square & 0x7FFF)
        high += np.int64(square) * np.int64(square >> 15)
    sums[2] += s3
    sums[3] += low
    sums[4] += high


@njit(cache=True, nogil=True)
def _add_bins(words, bins):  # pragma: no cover - compiled
    """Count magnitudes by their upper 15 bits: exponent and truncated significand."""
    for i in range(words.size):
        bins[(words[i] >> 16) & 0x7FFF] += 1


@njit(cache=True, nogil=True)
def _run(words, values, scales, limit, powers, found, sums, bins):  # pragma: no cover - compiled
    """All of a chunk, block by block."""
    q = np.empty(_BLOCK, dtype=np.int32)
    for start in range(0, words.size, _BLOCK):
        end = min(start + _BLOCK, words.size)
        block = q[: end - start]
        largest = _largest(words[start:end])
        if largest < limit:
            found[_MAGNITUDE] = max(found[_MAGNITUDE], largest)
            _scan(words[start:end], found)
            _quantise(values[start:end], scales, block)
        else:
            _scan_and_quantise(words[start:end], values[start:end], scales, block, found)
        _add_powers(block, sums)
        if powers == 4:
            _add_high_powers(block, sums)
        if bins.size:
            _add_bins(words[start:end], bins)


def fused_sums(
    x: torch.Tensor, row: ElementFormat, exponent: int, powers: int, histogram: bool
) -> Sums:
    """As :func:`adagrain.models.statistics_reference.reference_sums`, fast.

    Large tensors are split over as many threads as torch is set to use.
    """
    values = x.to(torch.float32).numpy()
    run = partial(_partial_sums, exponent=exponent, powers=powers, histogram=histogram)
    threads = torch.get_num_threads()
    if len(values) < _THREADED or threads == 1:
        parts = [run(values)]
    else:
        parts = list(_pool(threads).map(run, np.array_split(values, threads)))
    return _merged(parts)


def _partial_sums(
    values: np.ndarray, *, exponent: int, powers: int, histogram: bool
) -> tuple[np.ndarray, list[int], np.ndarray]:
    """What one thread finds: ``found``, the sums, and counts by the upper bits."""
    found = np.zeros(8, dtype=np.int64)
    found[_LOW], found[_HIGH] = 0x7FFFFFFF, -0x80000000
    totals = [0] * 5
    bins = np.zeros(1 << 15 if histogram else 0, dtype=np.int64)
    words = values.view(np.int32)
    scales, limit = _scales(exponent), np.int32(exponent << 23 | _CLAMPED_MANTISSA)
    for start in range(0, len(words), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        sums = np.zeros(5, dtype=np.int64)
        _run(words[chunk], values[chunk], scales, limit, powers, found, sums, bins)
        totals = [total + value for total, value in zip(totals, sums.tolist(), strict=True)]
    return found, totals, bins


def _merged(parts: list[tuple[np.ndarray, list[int], np.ndarray]]) -> Sums:
    found = np.array([part[0] for part in parts])
    nan, positive, negative, zero, clamped = found[:, :_LOW].sum(axis=0).tolist()
    low, high = int(found[:, _LOW].min()), int(found[:, _HIGH].max())
    none_finite = low > high
    s1, s2, s3, s4_low, s4_high = (
        sum(column) for column in zip(*[p[1] for p in parts], strict=True)
    )
    return Sums(
        nan=nan,
        positive_infinity=positive,
        negative_infinity=negative,
        zero=zero,
        saturated=clamped,
        minimum=0 if none_finite else _word(low),
        maximum=0 if none_finite else _word(high),
        largest_exponent=int(found[:, _MAGNITUDE].max()) >> 23,
        none_finite=int(none_finite),
        s1=s1,
        s2=s2,
        s3=s3,
        s4=s4_low + (s4_high << 15),
        raw_bins=_raw_bins(np.sum([part[2] for part in parts], axis=0), zero),
    )


def _raw_bins(counts: np.ndarray, zero: int) -> np.ndarray:
    """Count and energy of each raw bin, from the counts by exponent and 7 significand bits."""
    if not len(counts):
        return np.zeros((RAW_BINS, 2), dtype=np.int64)
    counts[0] -= zero
    counts[_FIELD >> 16 :] = 0
    energies = counts.reshape(256, 128) * (np.arange(128) + 128) ** 2
    energies[0] = counts[:128] * np.arange(128) ** 2
    pairs = (counts.reshape(RAW_BINS, 64), energies.reshape(RAW_BINS, 64))
    return np.stack([pair.sum(axis=1) for pair in pairs], axis=1)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="statistics")


def _scales(exponent: int) -> np.ndarray:
    """Two powers of two whose product is 2^(14−E), both within FP32."""
    shift = 14 - (exponent - 127)
    first = min(shift, 127)
    return np.array([math.ldexp(1, first), math.ldexp(1, shift - first)], dtype=np.float32)


def _word(key: int) -> int:
    """The FP32 word of a signed sort key."""
    return key if key >= 0 else (key ^ 0x7FFFFFFF) & 0xFFFFFFFF
