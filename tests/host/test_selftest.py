"""The self-test of devices that are right, and of ones with a fault each."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from golden_device import RECORD, agree, opened
from matrices import GRANULAR

from adagrain.host.device.selftest import selftest
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.units.granularity_unit import TileOpcode
from adagrain.models.interface.units.precision_controller import PrecisionOpcode
from adagrain.models.interface.units.region_manager import RegionOpcode
from adagrain.models.interface.units.statistics import StatisticsOpcode
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.region_manager.table import default_parameters, region_record

TINY = configuration("tiny")
FORMATS = "FP32", "FP16", "BF16"
#: Echo, statistics and differences of each format, frames and their elements of each that is coded,
#: decisions, products and results of each precision.
NAMES = [
    "echo",
    *(f"{unit} of {name}" for unit in ("statistics", "difference") for name in FORMATS),
    *(f"{what} of {name}" for what in ("frames", "elements") for name in ("FP16", "BF16")),
    "decisions",
    "precisions",
    *(f"products of {name}" for name in ("FP32", "FP16", "INT8", "INT4")),
    *(f"results in {name}" for name in ("FP32", "FP16", "INT8", "INT4")),
]


def test_all_that_a_build_has_is_asked_for() -> None:
    told: list[str] = []
    with opened(GoldenTransport(GRANULAR)) as device:
        report = selftest(device, seed=5, progress=told.append)
    assert report.passed and report.seed == 5 and report.backend == device.backend
    names = [check.name for check in report.checks]
    assert told == names
    assert sorted(names) == sorted(NAMES)
    assert {check.detail for check in report.checks} == {"equal to the golden model"}


def test_nothing_is_asked_for_that_a_build_has_not() -> None:
    with opened(GoldenTransport(TINY), TINY) as device:
        names = [check.name for check in device.selftest().checks]
    assert names == ["echo", "statistics of FP32", "statistics of BF16"]


@pytest.mark.parametrize("regions", [1, 4, 16])
def test_tables_of_any_length(regions: int) -> None:
    built = replace(GRANULAR, regions=regions)
    with opened(GoldenTransport(built), built) as device:
        assert device.selftest().passed
        agree(device)


@pytest.mark.parametrize(
    ("opcode", "byte", "wanted"),
    [
        (SystemOpcode.ECHO, 0, ["echo"]),
        (StatisticsOpcode.END, 40, [name for name in NAMES if "statistics" in name]),
        (StatisticsOpcode.HISTOGRAM, 0, [name for name in NAMES if "statistics" in name]),
        (RegionOpcode.STEP, 0, ["decisions"]),
        (RegionOpcode.READ, 7, ["decisions"]),
        (PrecisionOpcode.STEP, 3, ["precisions"]),
        (PrecisionOpcode.READ, 0, ["precisions"]),
        (TileOpcode.RUN, 0, [n for n in NAMES if "products" in n or "results" in n]),
        (TileOpcode.RUN, 4, [name for name in NAMES if "products" in name]),
    ],
    ids=str,
)
def test_faults_are_found(opcode: int, byte: int, wanted: list[str]) -> None:
    transport = GoldenTransport(GRANULAR)
    transport.data_port = opcode != TileOpcode.RUN  # so that all results are in replies
    operations = transport._model.commands._operations

    def faulty(honest: Callable[[bytes], bytes], payload: bytes) -> bytes:
        reply = bytearray(honest(payload))
        if byte < len(reply):
            reply[byte] ^= 1
        return bytes(reply)

    honest = operations[opcode]
    with opened(transport) as device:
        operations[opcode] = lambda payload: faulty(honest, payload)
        report = device.selftest()
    failed = [check for check in report.checks if not check.passed]
    assert sorted(check.name for check in failed) == sorted(wanted)
    assert "equal to the golden model" not in {check.detail for check in failed}
    assert not report.passed


def test_tables_are_left_as_they_were_by_a_check_that_fails() -> None:
    transport = GoldenTransport(GRANULAR)
    operations = transport._model.commands._operations
    with opened(transport) as device:
        device.configure_regions([region_record(cadence_max=3)] * 3, default_parameters(2))
        device.precisions.configure([RECORD])
        before = device.state_dict()
        for opcode in (RegionOpcode.STEP, PrecisionOpcode.STEP):
            honest = operations[opcode]
            operations[opcode] = lambda payload, reply=honest: b"\1" + reply(payload)[1:]
            assert not device.selftest().passed
            operations[opcode] = honest
            assert device.state_dict() == before
        agree(device)


@pytest.mark.parametrize("used", [False, True])
def test_tables_are_left_as_they_were(used: bool) -> None:
    with opened(GoldenTransport(GRANULAR)) as device:
        if used:
            records = [region_record(cadence_max=number) for number in range(3)]
            device.configure_regions(records, default_parameters(2))
            device.precisions.configure([RECORD])
        before = device.state_dict()
        assert device.selftest().passed
        assert device.selftest(seed=1).passed
        after = device.state_dict()
        assert after == before
        agree(device)
        assert device.statistics(torch.ones(3)).count == 3


def test_products_are_numbers_for_the_most_part_and_all_that_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    products: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    with opened(GoldenTransport(GRANULAR)) as device:
        multiply = device.matmul

        def noting(a: torch.Tensor, b: torch.Tensor, *how: object, **more: object) -> object:
            product = multiply(a, b, *how, **more)
            if a.is_floating_point() and not more:
                products.append((a, b, product.values))
            return product

        monkeypatch.setattr(device, "matmul", noting)
        assert device.selftest().passed
    assert {a.dtype for a, _, _ in products} == {torch.float32, torch.float16}
    for a, b, values in products:
        assert 0.3 < values.isfinite().float().mean() < 0.8
        for operand in (a, b):
            assert operand.isinf().any() and operand.isnan().any()
            smallest = torch.finfo(operand.dtype).smallest_normal
            assert ((operand.abs() < smallest) & (operand != 0)).any()
