"""Bad frames: each is refused with the value and what it must be, and none does any harm."""

import os
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import codec_reference as reference
import numpy as np
import pytest
import torch

from adagrain.models.codec import DEFAULT_TABLES, CodecError, build_table, decode, encode
from adagrain.models.interface.codec import BLOCK, SYMBOLS
from adagrain.models.interface.formats import FormatCode

#: Frames that are damaged; of each, as many with a CRC that is right again as with one that is not.
FRAMES = 100_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 3_000

#: Elements that a receiver takes here.
MOST = 1 << 16

WIDE, NARROW = DEFAULT_TABLES.values()
LENGTHS = {number: [*table.lengths] for number, table in DEFAULT_TABLES.items()}


def masked(length: int, density: float, generator: np.random.Generator) -> torch.Tensor:
    x = generator.standard_normal(length) * (generator.random(length) < density) + 0.0
    return torch.from_numpy(x).bfloat16()


def frames(generator: np.random.Generator) -> list[bytes]:
    """Of all kinds: tables carried and named, blocks coded, stored and empty, both formats."""
    some = [masked(300, 0.1, generator), masked(40, 0.9, generator), masked(0, 0, generator)]
    noise = torch.from_numpy(generator.integers(-(1 << 15), 1 << 15, 60).astype(np.int16))
    special = torch.tensor([0.0, -0.0, float("inf"), float("nan"), 1e-40, *[0.0] * 30])
    long = masked(3 * BLOCK // 2, 0.02, generator)
    return [
        encode(some),
        encode(some, tables=[NARROW]),
        encode([long, noise.view(torch.bfloat16)], tables=[WIDE, NARROW]),
        encode([masked(900, 0.3, generator)]),
        encode([special.bfloat16(), masked(100, 0.2, generator)], mantissa_bits=2),
        encode([masked(500, 0.1, generator).half(), noise.view(torch.float16)]),
        encode([torch.zeros(5000).bfloat16()]),
    ]


def repaired(frame: bytes) -> bytes:
    """With the CRC that it should have, where it names tables that there are."""
    if len(frame) < 16:
        return frame
    named = b"".join(DEFAULT_TABLES[n].lengths for n in frame[4:6] if n in (2, 3))
    return frame[:-4] + struct.pack("<I", zlib.crc32(named + frame[:-4]))


def damaged(frame: bytes, generator: random.Random) -> bytes:
    """In one way or another; the length in the header is mostly put right."""
    raw = bytearray(frame)
    way = generator.randrange(7)
    at = generator.randrange(len(raw))
    if way == 0:
        del raw[at:]
    elif way == 1:
        raw += generator.randbytes(generator.randrange(1, 9))
    elif way == 2:
        raw[at] ^= 1 << generator.randrange(8)
    elif way == 3:
        raw[at : at + generator.randrange(1, 9)] = generator.randbytes(generator.randrange(9))
    elif way == 4:
        raw[generator.randrange(min(48, len(raw)))] = generator.randrange(256)
    elif way == 5:
        other = generator.randrange(len(raw))
        raw[at], raw[other] = raw[other], raw[at]
    else:
        raw[at:] = generator.randbytes(len(raw) - at)
    if len(raw) >= 16 and generator.random() < 0.8:
        raw[8:12] = struct.pack("<I", len(raw))
    return bytes(raw)


def outcome(read: Callable[[], list[list[int]]], refusal: type[Exception]) -> object:
    try:
        return read()
    except refusal:
        return "refused"


def by_decoder(frame: bytes) -> list[list[int]]:
    tensors = decode(frame, most=MOST)
    return [x.view(torch.int16).numpy().view(np.uint16).tolist() for x in tensors]


def by_reference(frame: bytes) -> list[list[int]]:
    return reference.read_frame(frame, LENGTHS, MOST)[2]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"frame": None}, TypeError, "frame must be bytes, not of type NoneType"),
        ({"tables": [5]}, TypeError, "tables must be of CodeTable, not 5"),
        ({"counts": [3.0]}, TypeError, r"counts must be a whole number, not 3\.0"),
        ({"counts": [[3]]}, TypeError, r"counts must be a whole number, not \[3\]"),
        ({"counts": [3, True]}, TypeError, "counts must be a whole number, not True"),
        ({"counts": [3, -1]}, ValueError, "counts must be from 0 to 4294967295, not -1"),
        ({"counts": [1 << 32]}, ValueError, "counts must be from 0 to .*, not 4294967296"),
        ({"counts": np.array([1 << 63])}, ValueError, "counts must be .*, not 9223372036854775808"),
        ({"most": None}, TypeError, "most must be a whole number, not None"),
        ({"most": 4.5}, TypeError, r"most must be a whole number, not 4\.5"),
        ({"most": -1}, ValueError, "most must be from 0 to 9223372036854775807, not -1"),
        ({"most": 1 << 63}, ValueError, "most must be from 0 to .*, not 9223372036854775808"),
    ],
)
def test_wrong_arguments(arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        decode(**{"frame": b"", **arguments})


def test_views_of_a_frame() -> None:
    x = torch.ones(3).bfloat16()
    frame = encode([x])
    apart = memoryview(bytes(byte for own in frame for byte in (own, 0)))[::2]
    for view in (memoryview(frame), apart, memoryview(frame).cast("H")):
        assert decode(view)[0].equal(x)


def test_damaged_frames_are_refused(seed: int) -> None:
    """Without a CRC that was put right, none passes but where nothing was changed."""
    generator = random.Random(seed)
    whole = frames(np.random.default_rng(seed))
    for _ in range(FRAMES // 2):
        frame = generator.choice(whole)
        bad = damaged(frame, generator)
        if bad != frame:
            assert outcome(lambda bad=bad: by_decoder(bad), CodecError) == "refused", (
                f"seed {seed}: {bad.hex()}"
            )


def test_garbage_with_the_right_checksum_is_read_as_the_page_says(seed: int) -> None:
    """Refused, or the very elements that the plain codec of bit strings finds in it."""
    generator = random.Random(seed)
    whole = frames(np.random.default_rng(seed))
    passed = 0
    for _ in range(FRAMES // 2):
        bad = repaired(damaged(generator.choice(whole), generator))
        found = outcome(lambda bad=bad: by_decoder(bad), CodecError)
        assert found == outcome(lambda bad=bad: by_reference(bad), reference.RefusedError), (
            f"seed {seed}: {bad.hex()}"
        )
        passed += found != "refused"
    assert FRAMES // 100 < passed < FRAMES // 2


#: Reads frames from a file, each behind its length, in code that checks every index.
CHECKED = """
import sys
from adagrain.models.codec import CodecError, decode
raw = open(sys.argv[1], "rb").read()
read = at = 0
while at < len(raw):
    size = int.from_bytes(raw[at : at + 4], "little")
    try:
        decode(raw[at + 4 : at + 4 + size], most=1 << 16)
    except CodecError:
        pass
    read, at = read + 1, at + 4 + size
print(read)
"""


@pytest.mark.full
def test_no_index_is_out_of_bounds(tmp_path: Path) -> None:
    """The kernels compiled anew with checks of their indices: these would raise IndexError."""
    generator = random.Random(7)
    whole = frames(np.random.default_rng(7))
    bad = [repaired(damaged(generator.choice(whole), generator)) for _ in range(FRAMES)]
    file = tmp_path / "frames"
    file.write_bytes(b"".join(len(x).to_bytes(4, "little") + x for x in bad + whole))
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", CHECKED, str(file)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.strip() == str(len(bad + whole)), ran.stderr[-2000:]


# One thing at a time, with a checksum that is right.

FRAME = encode([masked(300, 0.1, np.random.default_rng(1))], tables=[NARROW])
CARRIED = encode([masked(5000, 0.3, np.random.default_rng(2)) * 4] * 2)
SHORT = encode(
    [torch.ones(9).bfloat16()], tables=[build_table(np.bincount([0], minlength=SYMBOLS))]
)
STORED = encode([torch.tensor([1e30, -1e20, 1.0]).bfloat16()], tables=[NARROW])


def changed(frame: bytes, at: int, *values: int) -> bytes:
    """A frame with other bytes, and length and CRC put right."""
    raw = bytearray(frame)
    raw[at : at + len(values)] = values
    return repaired(bytes(raw))


def resized(frame: bytes) -> bytes:
    return repaired(frame[:8] + struct.pack("<I", len(frame)) + frame[12:])


def block(lengths: str, coded: bytes, *, count: int = 20, base: int = 127) -> bytes:
    """A frame of one region of one block, in table 3."""
    width = len(lengths)
    head = struct.pack("<IBB", count, base, width)
    body = head + reference.bytes_of(lengths, "0") + coded
    return resized(b"AG\x01\x72\x03\x00\x01\x00" + bytes(4) + body + bytes(4))


def table(*values: int) -> bytes:
    """A frame of one region that ends within its carried table."""
    return resized(SHORT[:18] + bytes(values) + bytes(4))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME[:15], "frame must have at least 16 bytes, not 15"),
        (FRAME[:-1], f"frame must have {len(FRAME)} bytes, not {len(FRAME) - 1}"),
        (FRAME + b"\0", f"frame must have {len(FRAME)} bytes, not {len(FRAME) + 1}"),
        (changed(FRAME, 0, 0x42), "magic must be 18241, not 18242"),
        (changed(FRAME, 2, 2), "version must be 1, not 2"),
        (changed(FRAME, 3, 0x73), r"format must be one of 1 \(FP16\), 2 \(BF16\), not 3"),
        (changed(FRAME, 3, 0x82), "mantissa_bits must be from 0 to 7, not 8"),
        (changed(FRAME, 3, 0xB1), "mantissa_bits must be from 0 to 10, not 11"),
        (changed(FRAME, 4, 9), "table must be one of 2, 3, not 9"),
        (FRAME[:-1] + bytes([FRAME[-1] ^ 1]), "checksum must be 0x[0-9a-f]{8}, not 0x[0-9a-f]{8}"),
        (changed(FRAME, 6, 255), r"region headers must have 1530 bytes, not \d+"),
        (changed(FRAME, 16, 255), "exponent of region 0 must be at most 254, not 255"),
        (changed(FRAME, 17, 0x0F), "width of region 0 must be at most 14, not 15"),
        (changed(FRAME, 17, 0x28), "reserved bits of region 0 must be 0, not 1"),
        (changed(FRAME, 12, 0, 0, 0, 255), "elements of a frame must be at most 268435456, not 42"),
        (changed(FRAME, 12, 1, 0, 8), r"block lengths must have \d+ bytes, not \d+"),
        (changed(FRAME, 17, 5), "must be 0, not|blocks must have"),
        (changed(FRAME, 12, 2, 0), "length of block 0 of region 0 must be at most 4, not"),
        (
            block("101", b"\xff" * 5, count=2),
            "length of block 0 of region 0 must be at most 4, not 5",
        ),
        (table(14), "carried table must have at least 2 bytes, not 1"),
        (table(14, 32), "classes of a table must be from 1 to 13, not 14"),
        (table(13, 32), "carried table must have at least 210 bytes, not 2"),
        (changed(CARRIED, 24, 14), "classes of a table must be from 1 to 13, not 14"),
        (changed(CARRIED, 25, 0), "bins of a table must be from 1 to 32, not 0"),
        (changed(SHORT, 20, 0x18), "half byte behind a table must be 0, not 8"),
        (changed(CARRIED, 26, 0xFF), "code lengths must be from 0 to 12, not 15"),
        (changed(CARRIED, 26, 0x11), "codes must fill the code space, 4096 of 12 bits, not"),
        (
            changed(FRAME, 4, 0),
            "slot 0 must have a table, as block 0 of region 0 is .*, not none",
        ),
        (
            changed(block("11", b"\xff" * 3, count=2), 4, 0),
            "slot 0 must have a table, as block 0 of region 0 is coded",
        ),
        (changed(FRAME, 17, 0x17), "slot 1 must have a table, as block 0 of region 0 is coded"),
        (resized(FRAME[:-4] + b"x" + FRAME[-4:]), r"blocks must have \d+ bytes in all, not \d+"),
        (resized(FRAME[:-9] + FRAME[-4:]), r"blocks must have \d+ bytes in all, not \d+"),
        (
            block("01", b"\x20"),
            r"block 0 of region 0 must end with an element or padding, not \d bits before",
        ),
        (
            block("10", b"\xff\xff"),
            "block 0 of region 0 must end with an element or padding, not 24 bits before",
        ),
        (
            block("101", b"\xff\xff\xff\x00\x01", count=4095),
            "block 0 of region 0 must have elements at places below its count, not at 4095",
        ),
        (block("10", b"\xb4\x03", count=2), "block 0 of region 0 must have .* not at 2"),
        (
            block("10", b"\x3f\x00", base=0),
            r"block 0 of region 0 must have magnitudes from the half binade 0 on, not -\d",
        ),
    ],
)
def test_refusals(frame: bytes, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        decode(frame)
    assert outcome(lambda: by_reference(frame), reference.RefusedError) == "refused"


def test_a_stored_block_needs_no_table() -> None:
    (x,) = decode(changed(STORED, 4, 0))
    assert x.equal(torch.tensor([1e30, -1e20, 1.0]).bfloat16())


def test_a_receiver_tells_what_it_wants() -> None:
    for wanted in ([300], (300,), np.array([300], dtype=np.uint16)):
        assert len(decode(FRAME, counts=wanted)) == 1
    with pytest.raises(CodecError, match="regions must be 2, not 1"):
        decode(FRAME, counts=[300, 0])
    two = encode([torch.ones(300).bfloat16(), torch.ones(9).bfloat16()])
    for counts, told in (([300, 8], "1 must be 8, not 9"), ([1, 2], "0 must be 1, not 300")):
        with pytest.raises(CodecError, match=f"elements of region {told}"):
            decode(two, counts=counts)
    with pytest.raises(CodecError, match="elements of a frame must be at most 299, not 300"):
        decode(FRAME, most=299)
    with pytest.raises(CodecError, match="exponent of region 1 must be at most 254, not 255"):
        decode(changed(two, 22, 255), most=299)


def test_other_counts_are_refused_before_there_is_memory_for_them() -> None:
    """And before block lengths, of which there are too few."""
    with pytest.raises(CodecError, match=r"elements of region 0 must be 300, not 4294967295"):
        decode(changed(FRAME, 12, *[255] * 4), counts=[300], most=1 << 62)


def test_a_frame_without_regions() -> None:
    empty = resized(b"AG\x01\x72" + bytes(12))
    assert decode(empty) == [] == by_reference(empty)


def test_every_cut_and_every_flipped_bit_is_refused() -> None:
    for size in range(len(FRAME)):
        with pytest.raises(CodecError):
            decode(FRAME[:size])
    for bit in range(8 * len(FRAME)):
        raw = bytearray(FRAME)
        raw[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CodecError):
            decode(bytes(raw))


def test_formats_are_told_apart() -> None:
    (x,) = decode(encode([torch.ones(3).half()]))
    assert x.dtype is torch.float16 and FRAME[3] & 15 == FormatCode.BF16
