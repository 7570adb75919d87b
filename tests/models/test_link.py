"""Frames, the link's model, and the examples of its page."""

import random
import re
import zlib
from pathlib import Path

import pytest
from cobs import cobs
from hypothesis import given
from hypothesis import strategies as st

from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import (
    Frame,
    FrameCheck,
    FrameError,
    LinkModel,
    decode_frame,
    encode_frame,
)

PAGE = Path(__file__).parents[2] / "docs" / "link.md"
TINY = configuration("tiny")
HELLO = encode_frame(7, 0, SystemOpcode.HELLO)

u8, u16, u32 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32))


def executor(request: bytes) -> bytes:
    """The parameters that the page's examples suppose."""
    known = request[0] in (SystemOpcode.HELLO, SystemOpcode.ECHO)
    return bytes([Status.OK]) + request[1:] if known else bytes([Status.UNKNOWN_OPCODE])


@pytest.fixture
def link() -> LinkModel:
    return LinkModel(TINY, executor)


def replies(raw: bytes) -> list[Frame]:
    *frames, rest = raw.split(b"\0")
    assert not rest
    return [decode_frame(frame) for frame in frames]


def notice(session: int, expected: int) -> Frame:
    return Frame(session, expected, 0, b"", Status.BAD_CRC)


def test_examples_of_the_page(link: LinkModel) -> None:
    lines = re.findall(r"^([<>]) ([0-9a-f ]+)$", PAGE.read_text(), re.MULTILINE)
    assert len(lines) == 14
    for (sent, raw), (received, answer) in zip(lines[::2], lines[1::2], strict=True):
        assert (sent, received) == (">", "<")
        assert link.receive(bytes.fromhex(raw)) == bytes.fromhex(answer)


def test_page_shows_the_frame_before_cobs() -> None:
    shown = bytes.fromhex("4e 3d 2c 1b 01 00 02 00 03 00 11 00 22 65 7c 91 9e")
    assert shown.hex(" ") in PAGE.read_text()
    frame = encode_frame(0x1B2C3D4E, 1, SystemOpcode.ECHO, bytes.fromhex("110022"))
    assert cobs.decode(frame[:-1]) == shown


@given(u32, u16, u8, st.binary(max_size=300), u8)
def test_frames_come_back(
    session: int, sequence: int, opcode: int, payload: bytes, status: int
) -> None:
    raw = encode_frame(session, sequence, opcode, payload, status)
    assert raw.index(0) == len(raw) - 1
    assert decode_frame(raw[:-1]) == Frame(session, sequence, opcode, payload, status)


@given(st.binary(max_size=40), st.data())
def test_no_flipped_bit_passes(payload: bytes, choice: st.DataObject) -> None:
    raw = bytearray(encode_frame(1, 2, 3, payload)[:-1])
    position = choice.draw(st.integers(0, len(raw) * 8 - 1))
    raw[position // 8] ^= 1 << position % 8
    with pytest.raises(FrameError):
        decode_frame(bytes(raw))


@pytest.mark.parametrize(
    ("raw", "check", "message"),
    [
        (b"\x05ab", FrameCheck.DAMAGED, "frame of 3 bytes must be intact, but it is: damaged"),
        (cobs.encode(bytes(13)), FrameCheck.DAMAGED, "damaged"),
        (cobs.encode(bytes(14)), FrameCheck.WRONG_CHECKSUM, "wrong checksum"),
        (
            cobs.encode(bytes(11) + zlib.crc32(bytes(11)).to_bytes(4, "little")),
            FrameCheck.WRONG_LENGTH,
            "wrong length",
        ),
    ],
)
def test_frame_errors(raw: bytes, check: FrameCheck, message: str) -> None:
    with pytest.raises(FrameError, match=message) as caught:
        decode_frame(raw)
    assert caught.value.check == check


def test_frames_may_be_split_anywhere(link: LinkModel) -> None:
    raw = HELLO + encode_frame(7, 1, SystemOpcode.ECHO, bytes(range(256))) + b"\0\0" + HELLO
    whole = link.receive(raw)
    link.reset()
    assert b"".join(link.receive(bytes([byte])) for byte in raw) == whole


def test_only_the_latest_replies_are_repeated(link: LinkModel) -> None:
    frames = [HELLO, *(encode_frame(7, n, SystemOpcode.ECHO, bytes([n])) for n in range(1, 5))]
    first = [link.receive(frame) for frame in frames]
    assert [link.receive(frame) for frame in frames[3:]] == first[3:]
    refused = Frame(7, 5, SystemOpcode.ECHO, b"", Status.OUT_OF_ORDER)
    assert replies(link.receive(frames[2])) == [refused]
    assert link.counters["repeats"] == TINY.window == 2


def test_requests_are_executed_once() -> None:
    executed: list[bytes] = []
    link = LinkModel(TINY, lambda request: (executed.append(request), b"\0")[1])
    frames = [HELLO, *(encode_frame(7, n, SystemOpcode.ECHO, bytes([n])) for n in range(1, 30))]
    generator = random.Random(0)
    for n in range(len(frames)):
        near = range(max(0, n - 3), min(n + 3, len(frames)))
        for _ in range(4):
            link.receive(frames[generator.choice(near)])
        link.receive(b"".join(frames[max(0, n - 3) : n + 1]))
    assert executed == [b"\0", *(bytes([SystemOpcode.ECHO, n]) for n in range(1, 30))]


def test_hello_opens_one_session_per_number(link: LinkModel) -> None:
    command = encode_frame(7, 1, SystemOpcode.ECHO)
    assert replies(link.receive(command)) == [
        Frame(7, 1, SystemOpcode.ECHO, b"", Status.NO_SESSION)
    ]
    assert replies(link.receive(HELLO + HELLO + command)) == [
        Frame(7, 0, SystemOpcode.HELLO),
        Frame(7, 0, SystemOpcode.HELLO),
        Frame(7, 1, SystemOpcode.ECHO),
    ]
    link.receive(encode_frame(8, 0, SystemOpcode.HELLO))
    assert replies(link.receive(command)) == [
        Frame(7, 1, SystemOpcode.ECHO, b"", Status.NO_SESSION)
    ]
    assert link.counters["sessions"] == 2
    assert link.counters["no_session"] == 2


@pytest.mark.parametrize(
    ("session", "sequence", "payload", "status"),
    [
        (0, 0, b"", Status.BAD_VALUE),
        (9, 1, b"", Status.BAD_VALUE),
        (9, 0, b"x", Status.BAD_LENGTH),
    ],
)
def test_wrong_hello_changes_nothing(
    link: LinkModel, session: int, sequence: int, payload: bytes, status: Status
) -> None:
    link.receive(HELLO)
    wrong = encode_frame(session, sequence, SystemOpcode.HELLO, payload)
    before = dict(link.counters)
    assert replies(link.receive(wrong)) == [Frame(session, sequence, 0, b"", status)]
    assert link.counters == before | {"frames": before["frames"] + 1}
    assert replies(link.receive(encode_frame(7, 1, SystemOpcode.ECHO)))[0].status == Status.OK


def test_hello_that_is_too_late_is_out_of_order(link: LinkModel) -> None:
    link.receive(b"".join([HELLO, *(encode_frame(7, n, SystemOpcode.ECHO) for n in (1, 2, 3))]))
    before = dict(link.counters)
    assert replies(link.receive(HELLO)) == [Frame(7, 4, 0, b"", Status.OUT_OF_ORDER)]
    assert link.counters == before | {name: before[name] + 1 for name in ("frames", "out_of_order")}


def test_session_zero_is_none(link: LinkModel) -> None:
    refused = [Frame(0, 0, SystemOpcode.ECHO, b"", Status.NO_SESSION)]
    assert replies(link.receive(encode_frame(0, 0, SystemOpcode.ECHO))) == refused


def test_damaged_frames_are_noticed(link: LinkModel) -> None:
    assert replies(link.receive(b"\x01\0" + b"garbage\0" + HELLO)) == [
        notice(0, 0),
        notice(0, 0),
        Frame(7, 0, 0),
    ]
    command = encode_frame(7, 1, SystemOpcode.ECHO, b"abcd")
    assert replies(link.receive(command.replace(b"b", b"c"))) == [notice(7, 1)]
    assert (link.counters["bad_crc"], link.counters["bad_frame"]) == (1, 2)
    assert replies(link.receive(command)) == [Frame(7, 1, SystemOpcode.ECHO, b"abcd")]


def test_sound_frames_of_a_wrong_length_are_refused(link: LinkModel) -> None:
    link.receive(HELLO)
    too_long = encode_frame(7, 1, SystemOpcode.ECHO, bytes(TINY.payload + 1))
    assert replies(link.receive(too_long)) == [Frame(7, 1, SystemOpcode.ECHO, b"", Status.OVERFLOW)]
    body = cobs.decode(encode_frame(7, 1, SystemOpcode.ECHO, b"abc")[:-1])[:-5]
    shortened = cobs.encode(body + zlib.crc32(body).to_bytes(4, "little")) + b"\0"
    assert replies(link.receive(shortened)) == [
        Frame(7, 1, SystemOpcode.ECHO, b"", Status.BAD_LENGTH)
    ]
    longest = encode_frame(7, 1, SystemOpcode.ECHO, bytes(TINY.payload))
    assert replies(link.receive(longest)) == [Frame(7, 1, SystemOpcode.ECHO, bytes(TINY.payload))]
    assert link.counters["bad_frame"] == 2


def test_too_long_a_reply_is_refused() -> None:
    link = LinkModel(TINY, lambda request: bytes(TINY.payload + 2))
    with pytest.raises(ValueError, match="reply must have at most 256 bytes, not 257"):
        link.receive(HELLO)
