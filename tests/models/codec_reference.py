"""The codec as its page tells it, with strings of bits: slow, plain, sharing no code with models.

Words and lengths are lists of integers; what the page does not allow raises ``RefusedError``.
"""

import zlib
from dataclasses import dataclass

FORMATS = {1: (5, 10), 2: (8, 7)}  # exponent and mantissa bits
ESCAPE = 416


class RefusedError(ValueError):
    """A frame that the page does not allow."""


@dataclass
class Region:
    """A region's words and what its header says."""

    words: list[int]
    base: int
    slot: int = 0


def need(condition: bool, what: str) -> None:
    if not condition:
        raise RefusedError(what)


def codes_of(lengths: list[int]) -> dict[str, int]:
    """Symbols by their codes, which count up from all zeros."""
    found: dict[str, int] = {}
    code = before = 0
    for length, symbol in sorted((n, symbol) for symbol, n in enumerate(lengths) if n):
        if found:
            code = code + 1 << length - before
        found[f"{code:0{length}b}"] = symbol
        before = length
    return found


def bits_of(raw: bytes) -> str:
    return "".join(f"{byte:08b}" for byte in raw)


def bytes_of(bits: str, fill: str) -> bytes:
    bits += fill * (-len(bits) % 8)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


def number(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def raw_of(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(2, "little") for word in words)


# How a frame is made.


def element_bits(
    word: int, gap: int, base: int, codes: dict[int, str], sizes: tuple[int, int], kept: int
) -> str:
    exponent_bits = sizes[0]
    sign = f"{word:016b}"[0]
    half_binade = int(f"{word:016b}"[1 : 2 + exponent_bits], 2)
    mantissa = f"{word:016b}"[1 + exponent_bits :]
    gap_class = len(f"{gap:b}") if gap else 0
    own_bin = 2 * base + 1 - half_binade
    symbol = 32 * gap_class + own_bin
    if 0 <= own_bin <= 31 and "1" not in mantissa[kept:] and symbol in codes:
        low = f"{gap:b}"[1:] if gap else ""
        return codes[symbol] + low + sign + mantissa[1:kept]
    return codes[ESCAPE] + f"{gap:012b}" + f"{word:016b}"


def block_bytes(
    words: list[int], base: int, lengths: list[int], sizes: tuple[int, int], kept: int
) -> bytes:
    """A block as it stands in the frame: coded, or stored where that is not shorter."""
    codes = {symbol: code for code, symbol in codes_of(lengths).items()}
    bits, gap = "", 0
    for word in words:
        if word == 0:
            gap += 1
            continue
        bits += element_bits(word, gap, base, codes, sizes, kept)
        gap = 0
    coded = bytes_of(bits, "1")
    return coded if len(coded) < 2 * len(words) else raw_of(words)


def carried(lengths: list[int]) -> bytes:
    coded = [symbol for symbol in range(ESCAPE) if lengths[symbol]]
    classes = max(symbol // 32 for symbol in coded) + 1
    bins = max(symbol % 32 for symbol in coded) + 1
    nibbles = [lengths[32 * c + b] for c in range(classes) for b in range(bins)]
    bits = "".join(f"{length:04b}" for length in nibbles)
    return bytes([classes, bins]) + bytes_of(bits, "0")


def frame_of(
    regions: list[Region], fmt: int, kept: int, tables: list[tuple[int, list[int]]]
) -> bytes:
    """The frame of some regions; tables are numbers with their lengths, one or two."""
    heads, sizes, blocks = b"", "", b""
    for region in regions:
        own = [
            block_bytes(
                region.words[at : at + 4096],
                region.base,
                tables[region.slot][1],
                FORMATS[fmt],
                kept,
            )
            for at in range(0, len(region.words), 4096)
        ]
        longest = max(map(len, own), default=0)
        width = len(f"{longest:b}") if longest else 0
        heads += len(region.words).to_bytes(4, "little")
        heads += bytes([region.base, region.slot * 16 + width])
        sizes += "".join(f"{len(block):0{width}b}" for block in own) if width else ""
        blocks += b"".join(own)
    middle = heads + b"".join(carried(lengths) for n, lengths in tables if n == 1)
    middle += bytes_of(sizes, "0") + blocks
    numbers = [n for n, _ in tables] + [0] * (2 - len(tables))
    header = b"AG" + bytes([1, kept * 16 + fmt, *numbers]) + len(regions).to_bytes(2, "little")
    body = header + (12 + len(middle) + 4).to_bytes(4, "little") + middle
    named = b"".join(bytes(lengths) for n, lengths in tables if n != 1)
    return body + zlib.crc32(named + body).to_bytes(4, "little")


# How a frame is read.


def table_at(raw: bytes) -> tuple[list[int], int]:
    need(len(raw) >= 2, "no table")
    classes, bins = raw[:2]
    need(1 <= classes <= 13 and 1 <= bins <= 32, "classes and bins")
    nibbles = classes * bins
    size = 2 + (nibbles + 1) // 2
    need(len(raw) >= size, "table is cut")
    bits = bits_of(raw[2:size])
    values = [int(bits[at : at + 4], 2) for at in range(0, len(bits), 4)]
    need(not any(values[nibbles:]), "half byte")
    lengths = [0] * 417
    for at, length in enumerate(values[:nibbles]):
        lengths[at // bins * 32 + at % bins] = length
    lengths[ESCAPE] = max(lengths)
    need(max(lengths) <= 12, "code is too long")
    need(sum(2 ** (12 - length) for length in lengths if length) == 4096, "space")
    return lengths, size


def words_of(
    raw: bytes, count: int, base: int, lengths: list[int], sizes: tuple[int, int], kept: int
) -> list[int]:
    """The elements of a coded block."""
    exponent_bits, mantissa_bits = sizes
    codes, bits = codes_of(lengths), bits_of(raw)
    words: list[int] = []

    def take(n: int) -> str:
        nonlocal bits
        need(len(bits) >= n, "bits are missing")
        taken, bits = bits[:n], bits[n:]
        return taken

    while len(bits) >= 8 or "0" in bits:
        code = take(1)
        while code not in codes:
            code += take(1)
        symbol = codes[code]
        if symbol == ESCAPE:
            gap, word = int(take(12), 2), int(take(16), 2)
        else:
            gap_class, half_binade = symbol // 32, 2 * base + 1 - symbol % 32
            gap = int("1" + take(gap_class - 1), 2) if gap_class else 0
            need(half_binade >= 0, "magnitude")
            sign, mantissa = take(1), take(max(kept - 1, 0))
            upper = f"{half_binade:0{exponent_bits + 1}b}"
            word = int(sign + upper + mantissa.ljust(mantissa_bits - 1, "0"), 2)
        words += [0] * gap + [word]
        need(len(words) <= count, "place")
    return words + [0] * (count - len(words))


def read_frame(
    frame: bytes, tables: dict[int, list[int]], most: int
) -> tuple[int, int, list[list[int]]]:
    """Format, mantissa bits, and the regions' words."""
    need(len(frame) >= 16, "short")
    need(frame[:2] == b"AG" and frame[2] == 1 and number(frame[8:12]) == len(frame), "header")
    fmt, kept, numbers = frame[3] % 16, frame[3] // 16, [*frame[4:6]]
    need(fmt in FORMATS and kept <= FORMATS[fmt][1], "format")
    need(all(n in (0, 1) or n in tables for n in numbers), "table")
    named = b"".join(bytes(tables[n]) for n in numbers if n > 1)
    need(zlib.crc32(named + frame[:-4]) == number(frame[-4:]), "checksum")

    count, rest = number(frame[6:8]), frame[12:-4]
    need(len(rest) >= 6 * count, "region headers")
    heads, rest = [rest[6 * n : 6 * n + 6] for n in range(count)], rest[6 * count :]
    need(sum(number(head[:4]) for head in heads) <= most, "elements")
    for head in heads:
        need(head[4] <= 2 ** FORMATS[fmt][0] - 2, "exponent")
        need(head[5] % 16 <= 14 and head[5] < 32, "width")
    slots: list[list[int] | None] = []
    for n in numbers:
        if n == 1:
            lengths, size = table_at(rest)
            slots.append(lengths)
            rest = rest[size:]
        else:
            slots.append(tables.get(n))
    return fmt, kept, regions_of(heads, rest, FORMATS[fmt], kept, slots)


def regions_of(
    heads: list[bytes],
    rest: bytes,
    sizes: tuple[int, int],
    kept: int,
    slots: list[list[int] | None],
) -> list[list[int]]:
    shapes = []  # of each block: region, elements, bits of its length
    for n, head in enumerate(heads):
        elements = number(head[:4])
        counts = [min(4096, elements - at) for at in range(0, elements, 4096)]
        shapes += [(n, count, head[5] % 16) for count in counts]
    total = sum(width for _, _, width in shapes)
    need(len(rest) >= (total + 7) // 8, "lengths")
    bits, rest = bits_of(rest[: (total + 7) // 8]), rest[(total + 7) // 8 :]
    need("1" not in bits[total:], "bits behind lengths")
    regions: list[list[int]] = [[] for _ in heads]
    lengths, at = [], 0
    for _, count, width in shapes:
        lengths.append(int(bits[at : at + width] or "0", 2))
        need(lengths[-1] <= 2 * count, "length")
        at += width
    need(sum(lengths) == len(rest), "blocks")
    for (n, count, _), length in zip(shapes, lengths, strict=True):
        block, rest = rest[:length], rest[length:]
        if length == 2 * count:
            words = [number(block[at : at + 2]) for at in range(0, length, 2)]
        elif length:
            table = slots[heads[n][5] // 16]
            need(table is not None, "no table")
            assert table is not None
            words = words_of(block, count, heads[n][4], table, sizes, kept)
        else:
            words = [0] * count
        regions[n] += words
    return regions
