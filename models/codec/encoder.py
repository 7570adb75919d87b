"""The golden encoder: tensors to a frame, and the blocks that a device makes of one."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch

from adagrain.models.interface.codec import BLOCK, SLOTS, TableNumber

from .assembly import assemble
from .choice import choose_slots, choose_tables
from .choice_kernel import likely_bits
from .defaults import DEFAULT_TABLES
from .elements import Elements, Symbols, elements_of, from_one_base, symbols_of
from .encoder_kernel import pack, pack_block
from .parts import Parts, lengths_of
from .table import CodeTable, agreed

__all__ = ["Packing", "coded_blocks", "encode", "encode_by", "histogram", "overlong_blocks"]

#: Makes the blocks of elements, given as symbols too, by tables and each region's slot: all of
#: their bytes, and how many each has.
Packing = Callable[
    [Elements, Symbols, Sequence[CodeTable], np.ndarray], tuple[np.ndarray, np.ndarray]
]

#: Words beyond the elements that a block may take before it is found to be too long.
_MARGIN = 40 * BLOCK // 64 + 2


def encode(
    tensors: Sequence[torch.Tensor],
    *,
    exponents: Sequence[int] | None = None,
    tables: Sequence[CodeTable] | None = None,
    mantissa_bits: int | None = None,
) -> bytes:
    """The frame of some regions' masked tensors, from which they come back bit for bit.

    Parameters
    ----------
    tensors : sequence of Tensor
        One a region, of any shape; all BF16 or all FP16. What is not +0 is coded, −0 too.
    exponents : sequence of int or None
        Each region's base exponent, biased; elements with larger ones take an escape each.
        ``None``: the largest of its finite elements, or of those of all regions, whichever takes
        fewer bits.
    tables : sequence of CodeTable or None
        One or two. ``None``: two that are built of these tensors and carried, or the defaults;
        then no frame is longer than the elements and its headers.
    mantissa_bits : int or None
        Of each coded element, as :func:`adagrain.models.codec.with_mantissa_bits` leaves them;
        elements that have more take an escape each. ``None``: all that the format has.

    Raises
    ------
    TypeError, ValueError
        If tensors or arguments are not as they must be, or too many for a frame.
    """
    return encode_by(_packed, tensors, exponents, tables, mantissa_bits)


def encode_by(
    packing: Packing,
    tensors: Sequence[torch.Tensor],
    exponents: Sequence[int] | None,
    tables: Sequence[CodeTable] | None,
    mantissa_bits: int | None,
) -> bytes:
    """As :func:`encode`, by whatever makes the blocks: the golden encoder, or a device.

    Parameters
    ----------
    packing : Packing
        Makes them.
    tensors, exponents, tables, mantissa_bits
        As those of :func:`encode`.
    """
    if tables is not None and not 1 <= len(tables) <= SLOTS:
        raise ValueError(f"tables must be one or two, not {len(tables)}")
    agreed(tables or ())  # else nobody could read the frame
    elements, symbols = _symbols(tensors, exponents, mantissa_bits, tables)
    if tables is None:
        own, slots = choose_tables(symbols.counts, symbols.mantissa_bits)
        blocks, sizes = packing(elements, symbols, own, slots)
        carried = sum(len(table.carried) for table in own if table.number == TableNumber.CARRIED)
        if len(blocks) + carried <= 2 * elements.counts.sum():
            return _frame(elements, symbols, own, slots, blocks, sizes)
        tables = [*DEFAULT_TABLES.values()]
    slots, _ = choose_slots(symbols.counts, tables, symbols.mantissa_bits)
    blocks, sizes = packing(elements, symbols, tables, slots)
    return _frame(elements, symbols, tables, slots, blocks, sizes)


def coded_blocks(
    tensor: torch.Tensor, exponent: int, table: CodeTable, mantissa_bits: int | None = None
) -> list[bytes | None]:
    """Coded blocks that a device makes of one region, ``None`` for those that it gives up.

    It gives a block up that would take as many bytes as its elements do, and the host stores these.

    Parameters
    ----------
    tensor, exponent, table, mantissa_bits
        As those of :func:`encode`, of one region.
    """
    whole = [2 * min(BLOCK, tensor.numel() - at) for at in range(0, tensor.numel(), BLOCK)]
    blocks = overlong_blocks(tensor, exponent, table, mantissa_bits)
    return [block if len(block) < raw else None for block, raw in zip(blocks, whole, strict=True)]


def overlong_blocks(
    tensor: torch.Tensor, exponent: int, table: CodeTable, mantissa_bits: int | None = None
) -> list[bytes]:
    """The coded blocks of one region, of whatever length.

    Parameters
    ----------
    tensor, exponent, table, mantissa_bits
        As those of :func:`coded_blocks`.
    """
    elements = elements_of([tensor])
    symbols = symbols_of(elements, [exponent], mantissa_bits)
    mantissa = elements.fmt.mantissa_bits
    out, found = np.empty(_MARGIN, dtype=np.uint64), []
    for first, end in pairwise([0, *elements.ends.tolist()]):
        size = pack_block(
            elements.found[first:end],
            symbols.gaps[first:end],
            symbols.symbols[first:end],
            table.encoding,
            mantissa,
            mantissa - symbols.mantissa_bits,
            out,
            0,
        )
        found.append(out.byteswap().tobytes()[:size])
    return found


def histogram(
    tensors: Sequence[torch.Tensor],
    *,
    exponents: Sequence[int] | None = None,
    mantissa_bits: int | None = None,
) -> np.ndarray:
    """Count of each symbol in each region, int64, (regions, 417): tables are built of it.

    Parameters
    ----------
    tensors, exponents, mantissa_bits
        As those of :func:`encode`.
    """
    return _symbols(tensors, exponents, mantissa_bits)[1].counts


def _symbols(
    tensors: Sequence[torch.Tensor],
    exponents: Sequence[int] | None,
    mantissa_bits: int | None,
    tables: Sequence[CodeTable] | None = None,
) -> tuple[Elements, Symbols]:
    """Elements and symbols, from the bases that are given, or those that take fewer bits."""
    elements = elements_of(tensors)
    symbols = symbols_of(elements, exponents, mantissa_bits)
    if exponents is not None:
        return elements, symbols
    if tables is None:
        return elements, from_one_base(elements, symbols, likely_bits)
    return elements, from_one_base(
        elements, symbols, lambda counts, kept: choose_slots(counts, tables, kept)[1]
    )


def _frame(
    elements: Elements,
    symbols: Symbols,
    tables: Sequence[CodeTable],
    slots: np.ndarray,
    blocks: np.ndarray,
    sizes: np.ndarray,
) -> bytes:
    spare = (SLOTS - len(tables)) * (int(TableNumber.NONE),)
    numbers = (*(int(table.number) for table in tables), *spare)
    return assemble(
        Parts(
            elements.fmt,
            symbols.mantissa_bits,
            numbers,
            lengths_of(tables),
            elements.counts,
            symbols.bases,
            elements.first_blocks,
            slots,
            sizes,
            blocks,
            int(elements.counts.sum()),
        )
    )


def _packed(
    elements: Elements, symbols: Symbols, tables: Sequence[CodeTable], slots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """All blocks, and the bytes of each."""
    out = np.empty(elements.counts.sum() // 4 + _MARGIN, dtype=np.uint64)
    sizes = np.empty(len(elements.ends), dtype=np.int32)
    size = pack(
        elements.addresses,
        elements.counts,
        elements.found,
        symbols.gaps,
        symbols.symbols,
        elements.ends,
        elements.first_blocks,
        lengths_of(tables),
        slots,
        elements.fmt.mantissa_bits,
        elements.fmt.mantissa_bits - symbols.mantissa_bits,
        out,
        sizes,
    )
    return out[: -(-size // 8)].byteswap().view(np.uint8)[:size], sizes
