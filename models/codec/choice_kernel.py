"""Compiled choice of tables and slots, done for each frame whose tables are not given."""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import (
    BINS,
    ELEMENT_BITS,
    ESCAPE,
    GAP_BITS,
    LONGEST_CODE,
    SLOTS,
    SYMBOLS,
)

from .package_merge import merge

__all__ = [
    "best_lengths",
    "build",
    "carried",
    "carried_bytes",
    "choose",
    "costs",
    "deal",
    "likely_bits",
    "split",
]

#: By symbol: its gap's class, less its bin.
_BEYOND = np.array([symbol // BINS - symbol % BINS for symbol in range(SYMBOLS)])


@njit(cache=True, nogil=True)
def best_lengths(weights):  # pragma: no cover - compiled
    """Code lengths, uint8, (417,): those of the symbols that come, and of the escape.

    The escape counts as often as the rarest symbol at most, so that no code is longer.

    Parameters
    ----------
    weights : ndarray of int64, (417,)
        How often each symbol comes.
    """
    coded = np.flatnonzero(weights[:ESCAPE])
    if coded.size == 0:
        coded = np.zeros(1, dtype=np.int64)
    own = np.empty(coded.size + 1, dtype=np.int64)
    own[1:] = weights[coded]
    own[0] = min(weights[ESCAPE], own[1:].min())
    order = np.argsort(own, kind="mergesort")
    found = merge(own[order], LONGEST_CODE)
    lengths = np.zeros(SYMBOLS, dtype=np.uint8)
    for i in range(order.size):
        symbol = coded[order[i] - 1] if order[i] else ESCAPE
        lengths[symbol] = found[i]
    return lengths


@njit(cache=True, nogil=True)
def costs(lengths, mantissa_bits):  # pragma: no cover - compiled
    """Bits of a whole element by its symbol, int64, (417,); without a code it is an escape.

    Parameters
    ----------
    lengths : ndarray of uint8, (417,)
    mantissa_bits : int
        Of each element that is no escape.
    """
    escape = np.int64(lengths[ESCAPE]) + GAP_BITS + ELEMENT_BITS
    bits = np.full(SYMBOLS, escape, dtype=np.int64)
    for symbol in range(ESCAPE):
        if lengths[symbol]:
            low = max(symbol // BINS - 1, 0)
            bits[symbol] = np.int64(lengths[symbol]) + low + 1 + max(mantissa_bits - 1, 0)
    return bits


@njit(cache=True, nogil=True)
def deal(counts, lengths, mantissa_bits, slots):  # pragma: no cover - compiled
    """For each region the slot of the table that takes fewer bits; all bits that they take.

    Factors are of 32 bits, whose products a vector register can take at once.

    Parameters
    ----------
    counts : ndarray of int64, (regions, 417)
        How often each symbol comes, less than 2^31 times.
    lengths : ndarray of uint8, (slots, 417)
    slots : ndarray of uint8, (regions,)
        Filled; of equal tables, the first.
    """
    bits = np.empty((lengths.shape[0], SYMBOLS), dtype=np.int32)
    for slot in range(lengths.shape[0]):
        bits[slot] = costs(lengths[slot], mantissa_bits)
    total = np.int64(0)
    for region in range(counts.shape[0]):
        least = np.int64(0)
        for slot in range(lengths.shape[0]):
            taken = np.int64(0)
            for symbol in range(SYMBOLS):
                taken += np.int64(np.int32(counts[region, symbol])) * np.int64(bits[slot, symbol])
            if slot == 0 or taken < least:
                least = taken
                slots[region] = slot
        total += least
    return total


@njit(cache=True, nogil=True)
def choose(counts, mantissa_bits, rounds, defaults):  # pragma: no cover - compiled
    """Built tables, or the defaults where carrying any takes more.

    Parameters
    ----------
    counts, mantissa_bits, rounds
        As those of :func:`build`.
    defaults : ndarray of uint8, (2, 417)

    Returns
    -------
    own : bool
        True if the tables are built.
    lengths : ndarray of uint8, (tables, 417)
    slots : ndarray of uint8, (regions,)
    """
    slots = np.zeros(counts.shape[0], dtype=np.uint8)
    bits = deal(counts, defaults, mantissa_bits, slots)
    own, own_slots = build(counts, mantissa_bits, rounds), np.zeros_like(slots)
    own_bits = deal(counts, own, mantissa_bits, own_slots)
    for slot in range(own.shape[0]):
        own_bits += 8 * carried_bytes(own[slot])
    if own_bits < bits:
        return True, own, own_slots
    return False, defaults, slots


@njit(cache=True, nogil=True)
def build(counts, mantissa_bits, rounds):  # pragma: no cover - compiled
    """One table or two, whichever makes the frame of these regions shorter, uint8, (tables, 417).

    Parameters
    ----------
    counts, mantissa_bits, rounds
        As those of :func:`split`.
    """
    total, one = np.zeros((1, SYMBOLS), dtype=np.int64), np.empty((1, SYMBOLS), dtype=np.uint8)
    for region in range(counts.shape[0]):
        total[0] += counts[region]
    one[0] = best_lengths(total[0])
    two, bits = split(counts, mantissa_bits, rounds)
    of_one = np.sum(total[0] * costs(one[0], mantissa_bits))
    return one if of_one + 8 * carried_bytes(one[0]) <= bits else two


@njit(cache=True, nogil=True)
def split(counts, mantissa_bits, rounds):  # pragma: no cover - compiled
    """Tables for two groups of regions, uint8, (2, 417), and bits that everything then takes.

    Regions are split by what they have of long gaps and large magnitudes; then both tables are
    built, and each region dealt to the one that suits it better, some rounds long (as Lloyd's
    k-means). The best round counts.

    Parameters
    ----------
    counts : ndarray of int64, (regions, 417)
        How often each symbol comes, less than 2^31 times.
    mantissa_bits, rounds : int
    """
    slots = _first_slots(counts)
    best = np.zeros((SLOTS, SYMBOLS), dtype=np.uint8)
    least = np.int64(-1)
    for _ in range(rounds):
        weights = np.zeros((SLOTS, SYMBOLS), dtype=np.int64)
        for region in range(counts.shape[0]):
            weights[slots[region]] += counts[region]
        lengths = np.empty((SLOTS, SYMBOLS), dtype=np.uint8)
        bytes_carried = 0
        for slot in range(SLOTS):
            lengths[slot] = best_lengths(weights[slot])
            bytes_carried += carried_bytes(lengths[slot])
        before = slots.copy()
        bits = deal(counts, lengths, mantissa_bits, slots) + 8 * bytes_carried
        if least < 0 or bits < least:
            best, least = lengths, bits
        if np.all(before == slots):
            break
    return best, least


@njit(cache=True, nogil=True)
def likely_bits(counts, mantissa_bits):  # pragma: no cover - compiled
    """About the bits that everything takes with the first two tables of :func:`split`.

    As if their codes were not of whole bits: without building them.

    Parameters
    ----------
    counts, mantissa_bits
        As those of :func:`split`.
    """
    slots = _first_slots(counts)
    bits = 0.0
    for slot in range(SLOTS):
        weights = np.zeros(SYMBOLS, dtype=np.int64)
        for region in range(counts.shape[0]):
            if slots[region] == slot:
                weights += counts[region]
        total = np.float64(weights.sum())
        for symbol in np.flatnonzero(weights):
            beside = max(symbol // BINS - 1, 0) + max(mantissa_bits, 1)
            if symbol == ESCAPE:
                beside = GAP_BITS + ELEMENT_BITS
            bits += weights[symbol] * (beside + np.log2(total / weights[symbol]))
        bits += 8 * carried_bytes(weights)
    return bits


@njit(cache=True, nogil=True)
def carried_bytes(lengths):  # pragma: no cover - compiled
    """Bytes that a table takes in a frame."""
    classes, bins = _extent(lengths)
    return 2 + (classes * bins + 1) // 2


@njit(cache=True, nogil=True)
def carried(lengths):  # pragma: no cover - compiled
    """A table as a frame carries it, uint8: classes, bins, and their lengths, two to a byte."""
    classes, bins = _extent(lengths)
    found = np.zeros(carried_bytes(lengths), dtype=np.uint8)
    found[0], found[1] = classes, bins
    for i in range(classes * bins):
        length = lengths[i // bins * BINS + i % bins]
        found[2 + (i >> 1)] |= length if i & 1 else length << np.uint8(4)
    return found


@njit(cache=True, nogil=True)
def _extent(lengths):  # pragma: no cover - compiled
    """Classes and bins up to the last ones that come."""
    classes, bins = 1, 1
    for symbol in range(ESCAPE):
        if lengths[symbol]:
            classes = max(classes, symbol // BINS + 1)
            bins = max(bins, symbol % BINS + 1)
    return classes, bins


@njit(cache=True, nogil=True)
def _first_slots(counts):  # pragma: no cover - compiled
    """1 for regions whose mean of gap class − bin is above that of all their elements, else 0."""
    sums, totals = np.zeros((2, counts.shape[0]), dtype=np.int64)
    for region in range(counts.shape[0]):
        own, total = np.int64(0), np.int64(0)
        for symbol in range(SYMBOLS):
            own += counts[region, symbol] * _BEYOND[symbol]
            total += counts[region, symbol]
        sums[region], totals[region] = own, total
    mean = np.sum(sums) / max(np.sum(totals), 1)
    return (sums > mean * totals).astype(np.uint8)
