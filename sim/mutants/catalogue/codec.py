"""Mutants of the golden gradient codec."""

from .mutant import Mutant, tested

__all__ = ["MUTANTS"]

_FRAMES = tested("models/test_codec.py", "reference or every_word")
_TABLES = tested("models/test_codec_tables.py")

MUTANTS = (
    Mutant(
        "the first gap of a frame is one short",
        "models/codec/encoder_kernel.py",
        "            before = np.int32(-1)\n            for i in range(k, ends[b]):",
        "            before = np.int32(-1 if b else 0)\n            for i in range(k, ends[b]):",
        _FRAMES,
    ),
    Mutant(
        "minus zero is no element",
        "models/codec/encoder_kernel.py",
        "k += word != 0",
        "k += (word & 0x7FFF) != 0",
        _FRAMES,
    ),
    Mutant(
        "elements behind a block's last eight are lost",
        "models/codec/encoder_kernel.py",
        "k += _gather(block, rest, block.size, places[k:], found[k:])",
        "k += 0",
        _FRAMES,
    ),
    Mutant(
        "a symbol that is shifted may leave its class",
        "models/codec/bases_kernel.py",
        "stays = symbol % BINS + shift < BINS",
        "stays = symbol % BINS + shift <= BINS",
        tested("models/test_codec.py", "reference or one_base"),
    ),
    Mutant(
        "a block is padded with zeros",
        "models/codec/encoder_kernel.py",
        "out[word] = buffer | (_ALL >> used) & (~(_ALL >> full) if full < 64 else _ALL)",
        "out[word] = buffer",
        tested("models/test_codec.py", "gradients_equal"),
    ),
    Mutant(
        "the leading 1 of the longest gaps is lost",
        "models/codec/decoder_kernel.py",
        "gap = np.uint64(entry >> LEAST_GAP)",
        "gap = np.uint64(entry >> LEAST_GAP if low < 11 else 0)",
        tested("models/test_codec.py", "corners or come_back or gradients"),
    ),
    Mutant(
        "an element may end behind its block's bytes",
        "models/codec/decoder_kernel.py",
        "if at > end:",
        "if at > end + 7:",
        tested("models/test_codec_refusals.py", "test_refusals or garbage"),
    ),
    Mutant(
        "a table may leave some of the code space free",
        "models/codec/table.py",
        "if filled != 1 << LONGEST_CODE:",
        "if filled > 1 << LONGEST_CODE:",
        _TABLES,
    ),
    Mutant(
        "the last pair of a level is left out",
        "models/codec/package_merge.py",
        "pairs = size // 2",
        "pairs = (size - 1) // 2",
        _TABLES,
    ),
    Mutant(
        "codes of 12 bits begin one too late",
        "models/codec/canonical.py",
        "following[length], code = code, code + following[length] << 1",
        "following[length], code = code, (code + following[length] << 1) + (length == 11)",
        _TABLES,
    ),
    Mutant(
        "a gap's leading 1 is counted as a bit that is sent",
        "models/codec/choice_kernel.py",
        "low = max(symbol // BINS - 1, 0)",
        "low = symbol // BINS",
        _TABLES,
    ),
)
