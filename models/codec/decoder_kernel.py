"""The decoder's compiled pass over the blocks of a frame. It trusts no bit of them.

Every place is compared with its block's end before it is written, every number of bits with the
end of its block's bytes before they count as an element.
"""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import BLOCK, GAP_BITS, LONGEST_CODE, BlockOutcome

from .bits import as_words, bits_at
from .canonical import BIN, CODE, IS_ESCAPE, LEAST_GAP, LOW_BITS, lookup

__all__ = ["unpack", "unpack_block"]

FINE, CUT, BEYOND, BELOW = map(int, BlockOutcome)

_ONE = np.uint64(1)
_INDEX_SHIFT = np.uint64(64 - LONGEST_CODE)
_NOT_GAP, _GAP, _NOT_WORD = np.uint64(64 - GAP_BITS), np.uint64(GAP_BITS), np.uint64(48)


@njit(cache=True, nogil=True)
def unpack(
    raw, counts, first_blocks, sizes, bases, slots, lengths, mantissa, kept, out
):  # pragma: no cover - compiled
    """Decode all blocks.

    Parameters
    ----------
    raw : ndarray of uint8
        The blocks.
    counts, first_blocks : ndarray of int64
        Elements of each region; the number of its first block, and that of all blocks.
    sizes : ndarray of int32, (blocks,)
        Bytes of each block, no more than its elements'; in all no more than there are.
    bases : ndarray of int64, (regions,)
    slots : ndarray of uint8, (regions,)
    lengths : ndarray of uint8, (2, 417)
        Of each slot's table; they fill the code space, or are zeros where no block has the slot.
    mantissa, kept : int
        Mantissa bits of the format, and those of a coded element.
    out : ndarray of uint16
        Filled with the elements.

    Returns
    -------
    found, region, block, number : int
        ``FINE``, or what is wrong, where, and the number that is.
    """
    bits = as_words(raw)
    tables = lookup(lengths[0], kept), lookup(lengths[1], kept)
    at, start = np.int64(0), np.int64(0)
    for region in range(counts.size):
        table = tables[1] if slots[region] else tables[0]
        left = counts[region]
        for b in range(first_blocks[region], first_blocks[region + 1]):
            block = out[start : start + min(left, BLOCK)]
            start, left = start + block.size, left - block.size
            block[:] = 0
            end = at + 8 * np.int64(sizes[b])
            if sizes[b] == 2 * block.size:
                _take_stored(bits, at, block)
            elif sizes[b]:
                found, number = unpack_block(
                    bits, at, end, table, bases[region], mantissa, kept, block
                )
                if found != FINE:
                    return found, region, b - first_blocks[region], number
            at = end
    return FINE, 0, 0, np.int64(0)


@njit(cache=True, nogil=True)
def _take_stored(bits, at, block):  # pragma: no cover - compiled
    for i in range(block.size):
        pair = bits_at(bits, at + 16 * i) >> np.uint64(48)
        block[i] = pair >> np.uint64(8) | (pair & np.uint64(0xFF)) << np.uint64(8)


@njit(cache=True, nogil=True)
def unpack_block(bits, at, end, table, base, mantissa, kept, block):  # pragma: no cover - compiled
    """Elements until only padding is left: less than a byte, all ones.

    What follows the block's end makes no difference. The 64 bits ahead are read anew for each
    element, which takes longer than to look its code up: the next code is found in those of before.

    Parameters
    ----------
    bits : ndarray of uint64
        As :func:`adagrain.models.codec.bits.as_words` gives them.
    mantissa, kept
        As those of :func:`unpack`.
    at, end : int
        The bits at which the block begins and ends.
    table : ndarray of uint32, (4096,)
        As :func:`adagrain.models.codec.canonical.lookup` gives it.
    base : int
    block : ndarray of uint16
        Zeros, filled with the elements up to the first that is wrong.

    Returns
    -------
    found, number : int
    """
    place, ahead = np.int64(-1), bits_at(bits, at)
    code = ahead >> _INDEX_SHIFT
    top, rest = 2 * base + 1, np.uint64(max(kept - 1, 0))
    while at < end:
        if end - at < 8 and _is_padding(ahead, np.uint64(end - at)):
            break
        entry = np.int64(table[code])
        behind = ahead << np.uint64(entry >> CODE & 15)
        if entry & IS_ESCAPE:
            gap, word = behind >> _NOT_GAP, (behind << _GAP) >> _NOT_WORD
            half = np.int64(0)
        else:
            low = np.uint64(entry >> LOW_BITS & 15)
            gap = np.uint64(entry >> LEAST_GAP) + ((behind >> _ONE) >> (np.uint64(63) - low))
            half = top - (entry >> BIN & 31)
            word = _word(behind << low, np.uint64(half), np.uint64(mantissa), rest)
        size = entry & 63
        at += size
        code, ahead = (ahead << np.uint64(size)) >> _INDEX_SHIFT, bits_at(bits, at)
        place += 1 + np.int64(gap)
        if at > end:
            return CUT, at - end
        if np.uint64(place) >= np.uint64(block.size):
            return BEYOND, place
        if half < 0:
            return BELOW, half
        block[np.uint64(place)] = word
    return FINE, np.int64(0)


@njit(cache=True, nogil=True, inline="always")
def _is_padding(ahead, left):  # pragma: no cover - compiled
    return ahead >> (np.uint64(64) - left) == (_ONE << left) - _ONE


@njit(cache=True, nogil=True, inline="always")
def _word(behind, half, mantissa, rest):  # pragma: no cover - compiled
    """The element of a half binade whose sign and the rest of whose mantissa come next."""
    fraction = ((behind << _ONE) >> _ONE) >> (np.uint64(63) - rest)
    sign = behind >> np.uint64(63)
    below = mantissa - _ONE
    return sign << np.uint64(15) | half << below | fraction << (below - rest)
