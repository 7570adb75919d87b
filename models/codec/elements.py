"""Tensors as the encoder takes them: words behind each other, and what of them is not zero."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from adagrain.models.arguments import whole
from adagrain.models.interface.codec import CODED_FORMATS, SYMBOLS
from adagrain.models.interface.formats import FORMATS, ElementFormat

from .bases_kernel import shift_counts, shift_symbols
from .block_numbers import first_blocks_of
from .encoder_kernel import count_symbols, largest_exponents, scan

__all__ = ["Elements", "Symbols", "elements_of", "from_one_base", "symbols_of"]


class Elements(NamedTuple):
    """Elements that a pass over the regions finds.

    Members
    -------
    fmt : ElementFormat
    tensors : list of Tensor
        Contiguous; what keeps the words at the addresses alive.
    addresses, counts, first_blocks : ndarray of int64
        Where each region's words are, how many, and the number of its first block.
    places, found : ndarray of uint16
        Places within their blocks of the elements that are not +0, and these.
    ends : ndarray of int64, (blocks,)
        How many there are up to each block's end.
    """

    fmt: ElementFormat
    tensors: list[torch.Tensor]
    addresses: np.ndarray
    counts: np.ndarray
    first_blocks: np.ndarray
    places: np.ndarray
    found: np.ndarray
    ends: np.ndarray

    def largest_exponents(self) -> np.ndarray:
        """Each region's largest exponent field of a finite element, 0 where there is none."""
        largest = np.zeros(len(self.counts), dtype=np.int64)
        largest_exponents(
            self.found,
            self.ends,
            self.first_blocks,
            self.fmt.mantissa_bits,
            (1 << self.fmt.exponent_bits) - 1,
            largest,
        )
        return largest


class Symbols(NamedTuple):
    """The elements as symbols.

    Members
    -------
    bases : ndarray of int64, (regions,)
    mantissa_bits : int
    symbols : ndarray of uint16
        Of each element that is not +0.
    gaps : ndarray of uint16
        The zeros before it, within its block.
    counts : ndarray of int64, (regions, 417)
        How often each symbol comes.
    """

    bases: np.ndarray
    mantissa_bits: int
    symbols: np.ndarray
    gaps: np.ndarray
    counts: np.ndarray


def elements_of(tensors: Sequence[torch.Tensor]) -> Elements:
    """Find what is not +0.

    Raises
    ------
    TypeError
        If a tensor is neither FP16 nor BF16, or is not of the first one's type.
    ValueError
        If there is no tensor.
    """
    if not len(tensors):
        raise ValueError("tensors must be at least one, not none")
    fmt = _format_of(tensors)
    flat = [(x if x.is_cpu else x.cpu()).resolve_neg().contiguous() for x in tensors]
    addresses = np.array([x.data_ptr() for x in flat], dtype=np.int64)
    counts = np.array([x.numel() for x in flat], dtype=np.int64)
    first_blocks = first_blocks_of(counts)
    places, found = (np.empty(counts.sum() + 1, dtype=np.uint16) for _ in range(2))
    ends = np.zeros(first_blocks[-1], dtype=np.int64)
    scan(addresses, counts, first_blocks, places, found, ends)
    return Elements(fmt, flat, addresses, counts, first_blocks, places, found, ends)


def _format_of(tensors: Sequence[torch.Tensor]) -> ElementFormat:
    known = {FORMATS[code].dtype: FORMATS[code] for code in CODED_FORMATS}
    first, *others = dict.fromkeys(x.dtype for x in tensors)
    for dtype in (first, *others):
        if dtype not in known:
            raise TypeError(f"dtype must be one of {', '.join(map(str, known))}, not {dtype}")
    if others:
        raise TypeError(f"dtype must be the first tensor's, {first}, not {others[0]}")
    return known[first]


def symbols_of(
    elements: Elements, exponents: Sequence[int] | None, mantissa_bits: int | None
) -> Symbols:
    """Elements as symbols; their places are overwritten.

    Parameters
    ----------
    exponents : sequence of int or None
        Each region's base exponent, biased; ``None``: its largest.
    mantissa_bits : int or None
        Of each coded element; ``None``: all that the format has.

    Raises
    ------
    TypeError, ValueError
        If there is not an exponent for each region, or a value is no whole number, or out of its
        range.
    """
    fmt = elements.fmt
    given = fmt.mantissa_bits if mantissa_bits is None else mantissa_bits
    kept = whole("mantissa_bits", given, fmt.mantissa_bits)
    bases = elements.largest_exponents() if exponents is None else _bases(elements, exponents)
    size = int(elements.ends[-1]) if len(elements.ends) else 0
    symbols = np.empty(size, dtype=np.uint16)
    counts = np.zeros((len(bases), SYMBOLS), dtype=np.int64)
    count_symbols(
        elements.places,
        elements.found,
        elements.ends,
        elements.first_blocks,
        bases,
        fmt.mantissa_bits,
        (1 << fmt.mantissa_bits - kept) - 1,
        symbols,
        counts,
    )
    return Symbols(bases, kept, symbols, elements.places[:size], counts)


def from_one_base(
    elements: Elements, symbols: Symbols, bits_of: Callable[[np.ndarray, int], float]
) -> Symbols:
    """The same with all bins counted from the largest base, where that is what takes fewer bits.

    So it is where one threshold is for all regions: what comes often then has the same bins in
    each. Their symbols are overwritten then.

    Parameters
    ----------
    elements, symbols
        The elements, and what :func:`symbols_of` made of them.
    bits_of : callable
        Bits that all elements take, by the counts of their symbols and their mantissa bits.
    """
    shifts = 2 * (symbols.bases.max() - symbols.bases)
    counts, kept = shift_counts(symbols.counts, shifts), symbols.mantissa_bits
    if bits_of(counts, kept) >= bits_of(symbols.counts, kept):
        return symbols
    shift_symbols(symbols.symbols, elements.ends, elements.first_blocks, shifts)
    return symbols._replace(bases=symbols.bases + shifts // 2, counts=counts)


def _bases(elements: Elements, exponents: Sequence[int]) -> np.ndarray:
    if len(exponents) != len(elements.counts):
        raise ValueError(
            f"exponents must be as many as tensors, {len(elements.counts)}, not {len(exponents)}"
        )
    most = elements.fmt.largest_exponent
    return np.array([whole("exponent", own, most) for own in exponents], dtype=np.int64)
