"""Frames that a device encodes and decodes: those of the golden codec, whatever is behind."""

import re
import zlib
from collections.abc import Iterator

import pytest
import torch
from matrices import GRANULAR as BUILT

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import DeviceError
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.codec import (
    DEFAULT_TABLES,
    CodecError,
    build_table,
    decode,
    encode,
    histogram,
)
from adagrain.models.interface.codec import BlockOutcome
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.decoder import DecoderOpcode, DecoderRecord
from adagrain.models.interface.units.encoder import EncoderOpcode, EncoderRecord
from adagrain.models.interface.units.ranges import Range
from adagrain.models.mask import KeepTable, masked
from adagrain.sim.simulators import runner

DTYPES = (torch.float16, torch.bfloat16)
#: Keeps the four highest half binades below 2.
LARGE = KeepTable(127, [int(number < 4) for number in range(64)])


@pytest.fixture(scope="module", params=["golden:", "sim:", "frames"])
def device(request: pytest.FixtureRequest) -> Iterator[Coprocessor]:
    """A device with a data port, golden or RTL, and one that is sent and sends all in frames."""
    if request.param != "golden:" and (reason := runner.missing("verilator")):
        pytest.skip(reason)
    options = {"data_port": False} if request.param == "frames" else {}
    url = "sim:" if options else request.param
    with adagrain.open_device(url, BUILT, **options) as opened:
        yield opened


def regions(dtype: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
    """Sparse, of some blocks; dense; of zeros; without elements; one that is not compressed."""
    draw = torch.Generator().manual_seed(seed)
    dense = torch.randn(5000, generator=draw)
    numbers = torch.randn(9000, generator=draw)
    sparse = torch.where(torch.rand(9000, generator=draw) < 0.02, numbers, 0.0)
    wild = dense * torch.exp(9 * torch.randn(5000, generator=draw))
    parts = (sparse, dense.reshape(50, 100), torch.zeros(4097), torch.zeros(0), wild, dense[:1])
    return [x.to(dtype) for x in parts]


@pytest.mark.parametrize("dtype", DTYPES)
def test_frames_are_the_golden_encoders(device: Coprocessor, dtype: torch.dtype) -> None:
    given = regions(dtype)
    wide, narrow = DEFAULT_TABLES.values()
    before = device.counters()["encoded"]
    for options in (
        {},
        {"tables": [narrow]},
        {"tables": [wide, narrow], "mantissa_bits": 3},
        {"exponents": [15] * len(given), "mantissa_bits": 0},
    ):
        assert device.encode(given, **options) == encode(given, **options)
    assert device.counters()["encoded"] - before >= 4 * sum(x.numel() for x in given)


def test_the_sign_of_a_view_is_seen(device: Coprocessor) -> None:
    x = torch.randn(50).bfloat16()
    assert device.encode([torch._neg_view(x)], masks=[LARGE]) == encode([masked(-x, *LARGE)])


def test_masked_elements_are_zero(device: Coprocessor) -> None:
    given = regions(torch.bfloat16, seed=1)
    masks = [LARGE, None, LARGE, None, LARGE, KeepTable(0, [0] * 64)]
    kept = [x if m is None else masked(x, *m) for x, m in zip(given, masks, strict=True)]
    assert not torch.equal(kept[0], given[0]) and torch.equal(kept[1], given[1])
    for tables in (None, [*DEFAULT_TABLES.values()]):
        assert device.encode(given, masks=masks, tables=tables) == encode(kept, tables=tables)


def test_all_tables_are_brought_in_time(device: Coprocessor) -> None:
    """Though a slot that has one already is left as it is."""
    given = [x for x in regions(torch.bfloat16, seed=2) if x.numel()]
    own = build_table(histogram(given).sum(axis=0), number=17, floor=1)
    wide, narrow = DEFAULT_TABLES.values()
    for tables in ([own, wide], [own, narrow], [narrow], [own], [wide, own], [own, wide]):
        assert device.encode(given, tables=tables) == encode(given, tables=tables)


def test_strided_elements(device: Coprocessor) -> None:
    x = torch.randn(70, 90, generator=torch.Generator().manual_seed(1)).bfloat16()
    given = [x.t(), x[::2], -x]
    assert device.encode(given) == encode([y.contiguous() for y in given])


def test_any_bits_come_through(device: Coprocessor) -> None:
    """Subnormals, infinities, NaNs with all their bits, and −0."""
    for dtype in DTYPES:
        words = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16)
        given = [words[torch.randperm(1 << 16)].view(dtype)[:9000]]
        given.append(torch.where(torch.rand(9000) < 0.1, given[0].view(torch.int16), 0).view(dtype))
        assert device.encode(given) == encode(given)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_come_back(device: Coprocessor, dtype: torch.dtype) -> None:
    """By tables that are carried, agreed on, or known; blocks that are stored, or all zeros."""
    given = regions(dtype)
    own = build_table(histogram(given).sum(axis=0), number=17, floor=1)
    before = device.counters()["decoded"]
    for tables in (None, [*DEFAULT_TABLES.values()], [own], [own, *DEFAULT_TABLES.values()][:2]):
        frame = encode(given, tables=tables)
        found = device.decode(frame, tables=[own], counts=[x.numel() for x in given])
        assert [same.dtype for same in found] == [dtype] * len(given)
        for x, y in zip(found, given, strict=True):
            assert torch.equal(x.view(torch.int16), y.reshape(-1).view(torch.int16))
    assert device.counters()["decoded"] - before > 4 * 4096


def test_what_a_device_has_encoded_it_decodes(device: Coprocessor) -> None:
    given = regions(torch.bfloat16, seed=5)
    frame = device.encode(given, masks=[LARGE] * len(given))
    kept = [masked(x, *LARGE).reshape(-1) for x in given]
    for x, y in zip(device.decode(frame), kept, strict=True):
        assert torch.equal(x.view(torch.int16), y.view(torch.int16))


def with_checksum(body: bytes) -> bytes:
    return body + zlib.crc32(body).to_bytes(4, "little")


def test_frames_that_are_damaged(device: Coprocessor) -> None:
    """The golden decoder's error, be it found by the host or by the device."""
    numbers = torch.randn(300, generator=torch.Generator().manual_seed(1))
    sparse = torch.where(torch.arange(300) % 7 == 0, numbers, 0.0).bfloat16()
    frame = encode([sparse, sparse], tables=[build_table(histogram([sparse]).sum(axis=0))])
    assert len(device.decode(frame)) == 2
    damaged = [with_checksum(frame[:-5] + b"\0"), frame[:-1], frame[:-9] + bytes(9)]
    for raw in damaged:
        with pytest.raises(CodecError) as wanted:
            decode(raw)
        with pytest.raises(CodecError, match=re.escape(str(wanted.value))):
            device.decode(raw)
    with pytest.raises(CodecError, match="elements of region 0 must be 1, not 300"):
        device.decode(frame, counts=[1, 2])
    assert len(device.decode(frame)) == 2


def test_a_device_that_finds_fault_with_what_is_sound() -> None:
    transport = GoldenTransport(BUILT)
    operations = transport._model.commands._operations
    x = torch.ones(100).bfloat16()
    operations[DecoderOpcode.END] = lambda payload: bytes([0, 0, BlockOutcome.CUT])
    transport.data_port = False
    with Coprocessor(transport, BUILT, url="test:", timeout=0.01, retries=1) as device:
        with pytest.raises(DeviceError, match="a sound block must be FINE to the device, not CUT"):
            device.decode(encode([x]))


def zeros(payload: bytes) -> bytes:
    """An answer to ``READ``."""
    return bytes(8 * unpack(Range, payload)["count"])


@pytest.mark.parametrize("elements", [1, 99])
def test_a_device_that_finds_too_few_elements(elements: int) -> None:
    transport = GoldenTransport(BUILT)
    operations = transport._model.commands._operations
    record = pack(DecoderRecord, elements=elements, outcome=BlockOutcome.FINE)
    operations[DecoderOpcode.END] = lambda payload: record
    operations[DecoderOpcode.READ] = zeros
    transport.data_port = False
    told = f"a block must have 100 elements to the device, not {elements}"
    with Coprocessor(transport, BUILT, url="test:", timeout=0.01, retries=1) as device:
        with pytest.raises(DeviceError, match=told):
            device.decode(encode([torch.ones(100).bfloat16()]))


def test_a_device_that_was_reset_gets_its_tables_again() -> None:
    given, transport = regions(torch.bfloat16), GoldenTransport(BUILT)
    table = next(iter(DEFAULT_TABLES.values()))
    with Coprocessor(transport, BUILT, url="test:", timeout=0.01, retries=1) as device:
        assert device.encode(given, tables=[table]) == encode(given, tables=[table])
        transport._model.reset()
        assert device.encode(given, tables=[table]) == encode(given, tables=[table])
        assert device.counters()["restored"] == 1


def test_a_port_that_brings_too_few() -> None:
    transport = GoldenTransport(BUILT)
    with Coprocessor(transport, BUILT, url="test:", timeout=0.01, retries=1) as device:
        results = transport.results
        transport.results = lambda: results()[:-4]  # type: ignore[method-assign]
        with pytest.raises(DeviceError, match="must bring 32 bytes of blocks, not 16"):
            device.encode([torch.ones(9).bfloat16()], tables=[*DEFAULT_TABLES.values()][:1])


def test_a_device_whose_blocks_are_longer_than_they_can_be() -> None:
    transport = GoldenTransport(BUILT)
    transport.data_port = False
    operations = transport._model.commands._operations
    record = pack(EncoderRecord, count=9, coded=0, length=18, given_up=False)
    operations[EncoderOpcode.END] = lambda payload: record
    operations[EncoderOpcode.READ] = zeros
    told = "coded block of 9 elements must have fewer than 18 bytes, not 18"
    with Coprocessor(transport, BUILT, url="test:", timeout=0.01, retries=1) as device:
        with pytest.raises(DeviceError, match=told):
            device.encode([torch.ones(9).bfloat16()])


def test_wrong_arguments(device: Coprocessor) -> None:
    x = torch.ones(3).bfloat16()
    with pytest.raises(TypeError, match=r"dtype must be one of .*bfloat16, not"):
        device.encode([torch.ones(3)])
    with pytest.raises(TypeError, match="x must be a tensor, not list"):
        device.encode([[1.0]])
    with pytest.raises(ValueError, match="masks must be as many as tensors, 1, not 2"):
        device.encode([x], masks=[None, None])
    with pytest.raises(TypeError, match="masks must be of KeepTable, or None, not 1"):
        device.encode([x], masks=[1])
    with pytest.raises(ValueError, match="keep must have 64 entries, not shape"):
        device.encode([x], masks=[KeepTable(0, [1])])
    with pytest.raises(ValueError, match="tensors must be at least one, not none"):
        device.encode([])
    with pytest.raises(ValueError, match="tables must be one or two, not 0"):
        device.encode([x], tables=[])
    assert device.encode([x]) == encode([x])


def test_builds_that_cannot() -> None:
    x = torch.ones(3).half()
    with (
        adagrain.open_device("golden:", "tiny") as tiny,
        pytest.raises(ValueError, match="needs a build with an encoder, which device preset"),
    ):
        tiny.encode([x])
    with (
        adagrain.open_device("golden:", "tiny") as tiny,
        pytest.raises(ValueError, match="needs a build with a decoder, which device preset"),
    ):
        tiny.decode(encode([x]))
    built = configuration("tiny", units=("statistics", "encoder"))
    with adagrain.open_device("golden:", built) as device:
        with pytest.raises(TypeError, match=r"format must be one of FP32, BF16 on .*, not FP16"):
            device.encode([x])
        assert device.encode([x.bfloat16()]) == encode([x.bfloat16()])


@pytest.mark.parametrize(
    ("opcode", "byte", "wanted"),
    [
        (EncoderOpcode.END, 4, "frames"),
        (EncoderOpcode.READ, 3, "frames"),
        (DecoderOpcode.END, 2, "elements"),
        (DecoderOpcode.READ, 0, "elements"),
    ],
    ids=str,
)
def test_the_self_test_finds_a_fault(opcode: EncoderOpcode, byte: int, wanted: str) -> None:
    transport = GoldenTransport(BUILT)
    transport.data_port = False
    operations = transport._model.commands._operations
    honest = operations[opcode]

    def faulty(payload: bytes) -> bytes:
        reply = bytearray(honest(payload))
        reply[byte] ^= 1
        return bytes(reply)

    with Coprocessor(transport, BUILT, url="test:", timeout=0.01, retries=1) as device:
        assert device.selftest().passed
        operations[opcode] = faulty
        report = device.selftest()
    failed = {check.name for check in report.checks if not check.passed}
    assert failed == {f"{wanted} of FP16", f"{wanted} of BF16"}
