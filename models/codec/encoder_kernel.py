"""The encoder's compiled passes over all regions of a frame.

``first_blocks`` has the number of each region's first block, and that of all blocks. Elements are
words of 16 bits.
"""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import BINS, BLOCK, ESCAPE, GAP_BITS
from adagrain.models.numerics.addresses import longs_at, words_at

from .canonical import encoding

__all__ = ["count_symbols", "largest_exponents", "pack", "pack_block", "scan"]

#: By gap: its class.
_CLASS = np.array([gap.bit_length() for gap in range(BLOCK)], dtype=np.uint8)

#: Elements that are skipped together.
_GROUP = 8

_ONE, _WORD_BITS = np.uint64(1), np.uint64(16)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True)
def scan(addresses, counts, first_blocks, places, found, ends):  # pragma: no cover - compiled
    """Gather the elements that are not +0.

    Parameters
    ----------
    addresses, counts : ndarray of int64, (regions,)
        Where each region's words are, and how many.
    places, found : ndarray of uint16, one longer than all words
        Filled with their places within the block, and with the elements.
    ends : ndarray of int64, (blocks,)
        Filled with how many there are up to each block's end.
    """
    groups = np.empty(BLOCK // _GROUP, dtype=np.uint16)
    k = 0
    for region in range(counts.size):
        words = words_at(addresses[region], counts[region])
        longs = longs_at(addresses[region], counts[region] // 4)
        for b in range(first_blocks[region], first_blocks[region + 1]):
            start = (b - first_blocks[region]) * BLOCK
            block, halves = words[start : start + BLOCK], longs[start // 4 : (start + BLOCK) // 4]
            for i in range(_list_groups(halves, groups)):
                first = _GROUP * np.int64(groups[i])
                k += _gather(block, first, first + _GROUP, places[k:], found[k:])
            rest = block.size - block.size % _GROUP
            k += _gather(block, rest, block.size, places[k:], found[k:])
            ends[b] = k


@njit(cache=True, nogil=True, inline="always")
def _list_groups(halves, groups):  # pragma: no cover - compiled
    """List the groups that are not all +0, without a branch; their number.

    Parameters
    ----------
    halves : ndarray of uint64
        Two for each whole group, and perhaps one more.
    """
    n = 0
    for group in range(halves.size // 2):
        groups[n] = group
        n += (halves[2 * group] | halves[2 * group + 1]) != 0
    return n


@njit(cache=True, nogil=True, inline="always")
def _gather(block, start, end, places, found):  # pragma: no cover - compiled
    """Gather elements from ``start`` to ``end``, without a branch; their number."""
    k = 0
    for i in range(start, end):
        word = block[i]
        places[k] = i
        found[k] = word
        k += word != 0
    return k


@njit(cache=True, nogil=True)
def largest_exponents(found, ends, first_blocks, mantissa, field, largest):  # pragma: no cover
    """Each region's largest exponent field of a finite element, 0 where there is none.

    Parameters
    ----------
    mantissa : int
        Stored significand bits of the format.
    field : int
        The exponent field of infinities, shifted down.
    """
    k = 0
    for region in range(first_blocks.size - 1):
        last = first_blocks[region + 1] - 1
        end = ends[last] if last >= 0 else 0
        highest = 0
        for i in range(k, end):
            exponent = (found[i] >> mantissa) & field
            highest = max(highest, exponent if exponent != field else 0)
        largest[region] = highest
        k = end


@njit(cache=True, nogil=True)
def count_symbols(
    places, found, ends, first_blocks, bases, mantissa, dropped, symbols, counts
):  # pragma: no cover - compiled
    """Each element's symbol; its place becomes its gap.

    Parameters
    ----------
    bases : ndarray of int64, (regions,)
        Exponent fields from whose binades bins are counted down.
    dropped : int
        Mask of the mantissa bits that are not coded.
    symbols : ndarray of uint16
        Filled.
    counts : ndarray of int64, (regions, 417)
        What is added to: how often each symbol comes.
    """
    k = 0
    for region in range(first_blocks.size - 1):
        top = 2 * np.int32(bases[region]) + 1
        histogram = counts[region]
        for b in range(first_blocks[region], first_blocks[region + 1]):
            before = np.int32(-1)
            for i in range(k, ends[b]):
                gap = np.int32(places[i]) - before - np.int32(1)
                before = np.int32(places[i])
                word = np.int32(found[i])
                own = top - ((word & 0x7FFF) >> (mantissa - 1))
                plain = (own >= 0) & (own < BINS) & ((word & dropped) == 0)
                symbol = _CLASS[gap] * BINS + own if plain else ESCAPE
                places[i] = gap
                symbols[i] = symbol
                histogram[symbol] += 1
            k = ends[b]


@njit(cache=True, nogil=True)
def pack(
    addresses,
    counts,
    found,
    gaps,
    symbols,
    ends,
    first_blocks,
    lengths,
    slots,
    mantissa,
    drop,
    out,
    sizes,
):  # pragma: no cover - compiled
    """Write all blocks behind each other; the bytes that they take.

    Parameters
    ----------
    addresses, counts, found, ends
        As those of :func:`scan`.
    gaps, symbols
        As :func:`count_symbols` leaves them.
    lengths : ndarray of uint8, (2, 417)
        Of each slot's table.
    slots : ndarray of uint8, (regions,)
    mantissa, drop : int
        Mantissa bits of the format, and how many of them are not coded.
    out : ndarray of uint64
        Filled, the first bit highest; room for the elements and an overlong block.
    sizes : ndarray of int32, (blocks,)
        Filled with each block's bytes; twice its elements where it is stored.
    """
    codes = encoding(lengths[0]), encoding(lengths[1])
    k, at = 0, np.int64(0)
    for region in range(counts.size):
        words = words_at(addresses[region], counts[region])
        table = codes[1] if slots[region] else codes[0]
        for b in range(first_blocks[region], first_blocks[region + 1]):
            start = (b - first_blocks[region]) * BLOCK
            block = words[start : start + BLOCK]
            end = ends[b]
            size = pack_block(
                found[k:end], gaps[k:end], symbols[k:end], table, mantissa, drop, out, at
            )
            k = end
            if size >= 2 * block.size:
                size = 2 * block.size
                _store_block(block, out, at)
            sizes[b] = size
            at += size
    return at


@njit(cache=True, nogil=True)
def pack_block(found, gaps, symbols, table, mantissa, drop, out, at):  # pragma: no cover
    """Write a block from byte ``at`` of ``out`` on; the bytes that it takes.

    Parameters
    ----------
    found, gaps, symbols
        Its part of those of :func:`pack`.
    table : ndarray of uint16, (417,)
        By symbol, the code of its region's slot and, in the lower 4 bits, its length.
    mantissa, drop, out
        As those of :func:`pack`.
    """
    word = at >> 3
    used = np.uint64((at & 7) * 8)
    # what stands before the block in its first word
    buffer = out[word] & ~(_ALL >> used)
    escape = np.uint64(table[ESCAPE])
    rest = np.uint64(max(mantissa - drop - 1, 0))
    below, drop = (_ONE << np.uint64(mantissa - 1)) - _ONE, np.uint64(mantissa - 1) - rest
    for i in range(found.size):
        entry = np.uint64(table[symbols[i]])
        element, gap = np.uint64(found[i]), np.uint64(gaps[i])
        if symbols[i] == ESCAPE or entry == 0:
            length = (escape & np.uint64(15)) + np.uint64(GAP_BITS) + _WORD_BITS
            bits = ((escape >> np.uint64(4)) << np.uint64(GAP_BITS) | gap) << _WORD_BITS | element
        else:
            kind = np.uint64(symbols[i] >> 5)
            low = kind - _ONE if kind else kind
            bits = (entry >> np.uint64(4)) << low | gap & ((_ONE << low) - _ONE)
            bits = bits << _ONE | element >> np.uint64(15)
            bits = bits << rest | (element & below) >> drop
            length = (entry & np.uint64(15)) + low + _ONE + rest
        top = bits << (np.uint64(64) - length)
        buffer |= top >> used
        out[word] = buffer
        used += length
        if used >= 64:
            used -= np.uint64(64)
            word += 1
            # without the bits that the word before it has taken
            buffer = top << (length - used)
    if found.size == 0:
        return 0
    return _padded(buffer, word, used, out) - at


@njit(cache=True, nogil=True)
def _padded(buffer, word, used, out):  # pragma: no cover - compiled
    """Fill the last byte with ones; the number of the byte behind it."""
    full = (used + np.uint64(7)) & np.uint64(0xF8)
    if used != 0:
        out[word] = buffer | (_ALL >> used) & (~(_ALL >> full) if full < 64 else _ALL)
    return (word << 3) + np.int64(full >> np.uint64(3))


@njit(cache=True, nogil=True)
def _store_block(block, out, at):  # pragma: no cover - compiled
    """Elements as they are, low byte first."""
    for i in range(block.size):
        element = np.uint64(block[i])
        swapped = element >> np.uint64(8) | (element & np.uint64(0xFF)) << np.uint64(8)
        place = at + 2 * i
        for half in range(2):
            byte = swapped >> np.uint64(8) if half == 0 else swapped & np.uint64(0xFF)
            shift = np.uint64(56 - 8 * ((place + half) & 7))
            word = (place + half) >> 3
            cleared = out[word] & ~(np.uint64(0xFF) << shift)
            out[word] = cleared | byte << shift
