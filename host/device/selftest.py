"""Does a device do what the golden models say? Asked of the device itself, through its driver."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from adagrain.host.errors import DeviceError
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.interface.codec import CODED_FORMATS
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.precision_controller import PrecisionRecord
from adagrain.models.interface.units.region_manager import (
    CadencePolicy,
    SpeculationPolicy,
)
from adagrain.models.interface.units.unit import load
from adagrain.models.numerics.matmul import reference
from adagrain.models.numerics.matrices import DTYPES
from adagrain.models.precision_controller import precision_record
from adagrain.models.region_manager.table import default_parameters, region_record
from adagrain.models.rescale import rescale
from adagrain.models.statistics import statistics

from .codec_trial import check_elements, check_frames
from .trial_tensors import any_tensor

if TYPE_CHECKING:
    from .coprocessor import Coprocessor

__all__ = ["Check", "Report", "selftest"]

#: Steps of the Region Manager's trace: enough for each state and several cadences.
_STEPS = 48


@dataclass(frozen=True)
class Check:
    """One question and its answer."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Report:
    """All checks of a self-test."""

    backend: str
    seed: int
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """True if every check passed."""
        return all(check.passed for check in self.checks)


def selftest(
    device: Coprocessor, *, seed: int = 0, progress: Callable[[str], None] = lambda name: None
) -> Report:
    """Compare a device with the golden models: link, statistics, region table, decisions.

    Tables are overwritten and restored, where a check fails, too.

    Parameters
    ----------
    device : Coprocessor
        The device.
    seed : int
        Seeds the random data; it is part of the report.
    progress : callable
        Called with each check's name before it runs.
    """
    generator = torch.Generator().manual_seed(seed)
    checks = []
    for name, check in _checks(device, generator):
        progress(name)
        try:
            detail = check()
            checks.append(Check(name, not detail, detail or "equal to the golden model"))
        except DeviceError as error:
            checks.append(Check(name, False, str(error)))
    return Report(device.backend, seed, tuple(checks))


def _checks(
    device: Coprocessor, generator: torch.Generator
) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "echo", lambda: _echo(device, generator)
    for code in device.configuration.formats:
        yield (
            f"statistics of {code.name}",
            partial(_statistics, device, any_tensor(code, generator)),
        )
    for unit in device.configuration.built():
        tried = unit.core or unit.trial is not None
        for code in device.configuration.formats if tried else ():
            tensors = [any_tensor(code, generator) for _ in unit.tensors]
            yield f"{unit.name} of {code.name}", partial(_passes, device, unit, tensors)
    for code in CODED_FORMATS:
        if "encoder" in device.configuration.units and code in device.configuration.formats:
            yield f"frames of {code.name}", partial(check_frames, device, code, generator)
        if "decoder" in device.configuration.units:
            yield f"elements of {code.name}", partial(check_elements, device, code, generator)
    if "region_manager" in device.configuration.units:
        yield "decisions", lambda: _decisions(device, generator)
    if device.configuration.slices:
        for precision in device.configuration.precisions:
            yield f"products of {precision.name}", partial(_products, device, precision, generator)
        for to in device.configuration.precisions:
            yield f"results in {to.name}", partial(_results, device, to, generator)
    if "precision_controller" in device.configuration.units:
        yield "precisions", lambda: _precisions(device, generator)


def _echo(device: Coprocessor, generator: torch.Generator) -> str:
    longest = device.configuration.payload
    random = bytes(torch.randint(256, (longest,), generator=generator).tolist())
    for payload in (b"", b"\0", bytes(longest), b"\xff" * longest, bytes(range(256)), random):
        if device.echo(payload) != payload:
            return f"{len(payload)} bytes came back changed"
    return ""


def _statistics(device: Coprocessor, tensor: torch.Tensor) -> str:
    for part, exponent in ((tensor, 0), (tensor[:4096], None), (tensor[:1], None)):
        histogram = device.configuration.histogram
        found = device.statistics(part, exponent, histogram=histogram)
        powers = device.configuration.powers
        wanted = statistics(part, exponent, powers=powers, histogram=histogram, kernel="reference")
        if found != wanted:
            return f"{len(part)} elements gave {found}, not {wanted}"
    return ""


def _passes(device: Coprocessor, unit: Unit, tensors: list[torch.Tensor]) -> str:
    """Passes of a unit: over all of its tensors, a part, the same twice."""
    trial = unit.trial or {}
    model = load(unit, unit.twin)(device.configuration, TensorInputModel(device.configuration))
    parts = [[x[:end] for x in tensors] for end in (None, 4096, 1)] + [tensors[:1] * len(tensors)]
    for part in parts:
        found = device.run_pass(unit.name, part, **trial)
        record = model.result(trial, torch.stack(part, dim=1).reshape(-1))
        wanted = unpack(unit.end.reply.record, record)
        if found != wanted:
            return f"{len(part[0])} elements gave {found}, not {wanted}"
    return ""


def _products(device: Coprocessor, precision: Precision, generator: torch.Generator) -> str:
    """A product that is cut into tiles."""
    a, b = _operands(19, 37, 11, precision, generator)
    found = device.matmul(a, b, precision)
    values, flags = reference(a, b, precision)
    same = np.array_equal(_bits(found.values), _bits(values)) and torch.equal(found.flags, flags)
    return "" if same else "a product differs"


def _results(device: Coprocessor, to: Precision, generator: torch.Generator) -> str:
    """Products in all that it computes in, which come back in another precision."""
    for precision in device.configuration.precisions:
        a, b = _operands(5, 9, 11, precision, generator)
        found = device.matmul(a, b, precision, to=to, to_scale=4.0)
        sums = _bits(reference(a, b, precision)[0])
        wanted = rescale(sums, precision, np.array(-2), to).words
        if not np.array_equal(_bits(found.values) & ((1 << to.bits) - 1), wanted):
            return f"a product of {precision.name} differs"
    return ""


def _bits(values: torch.Tensor) -> np.ndarray:
    array = values.numpy()
    return array.view(f"u{array.itemsize}").astype(np.int64)


def _operands(
    m: int, k: int, n: int, precision: Precision, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Any bits; in floating point behind normal numbers, and in front of each special value.

    Hardly any sum of the former is a number.
    """
    a, b = (_any_bits(shape, precision, generator) for shape in ((m, k), (n, k)))
    if not precision.integer:
        for matrix in (a, b):
            normal = matrix[: 1 + len(matrix) // 2]
            normal.copy_(torch.randn(normal.shape, generator=generator))
            subnormal = torch.finfo(matrix.dtype).smallest_normal / 2
            special = [math.inf, -math.inf, math.nan, -0.0, subnormal]
            matrix[-1, : len(special)] = torch.tensor(special)
    return a, b.t()


def _any_bits(
    shape: tuple[int, int], precision: Precision, generator: torch.Generator
) -> torch.Tensor:
    raw = precision.bits // 8 or 1
    bits = torch.randint(256, (*shape, raw), generator=generator, dtype=torch.uint8)
    matrix = bits.view(DTYPES[precision]).reshape(shape)
    return matrix >> 4 if precision is Precision.INT4 else matrix


def _decisions(device: Coprocessor, generator: torch.Generator) -> str:
    """A random trace; the driver itself compares each decision with the golden model's."""
    regions = min(8, device.configuration.regions)
    records = [
        region_record(
            policy=list(SpeculationPolicy)[r % len(SpeculationPolicy)],
            cadence_policy=CadencePolicy.NOISE,
            cadence_max=3,
        )
        for r in range(regions)
    ]
    with _restored(device):
        device.configure_regions(records, default_parameters(2))
        for step in range(_STEPS):
            device.update_regions(
                _any_updates(regions, step, generator), loss=(_STEPS - step) << 12, epoch_end=True
            )
        found = device.read_table(0, regions)
        wanted = device.state_dict()["table"][: len(found)]
    return "" if found == wanted else "the region table differs from the golden model's"


def _any_updates(regions: int, step: int, generator: torch.Generator) -> list[dict[str, int]]:
    a = torch.randint(1, 1 << 40, (regions,), generator=generator).tolist()
    n = torch.randint(1, 1 << 38, (regions,), generator=generator).tolist()
    alike = {"exponent": 120 + step // 16, "usable": 1, "decide": 1}
    return [alike | {"region": r, "a": a[r], "n": n[r]} for r in range(regions)]


def _precisions(device: Coprocessor, generator: torch.Generator) -> str:
    """Records whose thresholds updates cross; the driver itself compares each decision."""
    count = min(8, device.configuration.regions)
    records = [
        precision_record((0.05, 0.1, 0.2), hysteresis=0.01, dwell=number % 3, floor=floor)
        for number, floor in zip(range(count), 2 * [*Precision], strict=False)
    ]
    with _restored(device):
        device.precisions.configure(records)
        for _ in range(_STEPS):
            variances = torch.randint(1 << 14, (count,), generator=generator).tolist()
            device.precisions.decide(
                [
                    {"channel_group": number, "variance": variance, "square": 1 << 16}
                    for number, variance in enumerate(variances)
                ]
            )
        found = device.precisions.read(0, count)
        wanted = [unpack(PrecisionRecord, record) for record in device.precisions.state()]
    return "" if found == wanted[:count] else "the records differ from the golden model's"


@contextmanager
def _restored(device: Coprocessor) -> Iterator[None]:
    """Within, tables may be overwritten; a check that fails leaves them as they were, too."""
    state = device.state_dict()
    try:
        yield
    finally:
        device.load_state_dict(state)
