"""Records on the wire, checked against amaranth's own layouts."""

import random

import numpy as np
import pytest
from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from adagrain.models.interface.records import complete, pack, size, unpack, unpack_all
from adagrain.models.interface.units import UNITS
from adagrain.models.interface.units.granularity_unit import TileRun
from adagrain.models.interface.units.precision_controller import PrecisionUpdate
from adagrain.models.interface.units.region_manager import RegionStep
from adagrain.models.interface.units.statistics import BINS

LAYOUTS = {name: own for unit in UNITS.values() for name, own in unit.records.items()}
MIXED = data.StructLayout({"low": signed(3), "some": unsigned(9), "_": unsigned(1), "b": signed(3)})


def limits(shape: object) -> tuple[int, int]:
    """The least and the greatest number, from a range of amaranth's definition."""
    assert hasattr(shape, "signed") and hasattr(shape, "width")
    numbers = 2**shape.width
    return (-numbers // 2, numbers // 2 - 1) if shape.signed else (0, numbers - 1)


def drawn(layout: data.Layout, generator: random.Random) -> dict[str, int]:
    """Any value of each field, extremes more often than others."""
    fields = [(str(n), limits(f.shape)) for n, f in layout if not str(n).startswith("_")]
    return {n: generator.choice([*ends, generator.randint(*ends)]) for n, ends in fields}


def test_there_are_records() -> None:
    assert len(LAYOUTS) > 10
    assert BINS == 64


@pytest.mark.parametrize("layout", [*LAYOUTS.values(), MIXED], ids=[*LAYOUTS, "mixed"])
def test_equal_to_amaranth_s_own(layout: data.Layout, seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(50):
        fields = drawn(layout, generator)
        raw = pack(layout, **fields)
        assert raw == layout.const(fields).as_value().value.to_bytes(size(layout), "little")
        assert unpack(layout, raw) == fields
        assert unpack_all(layout, raw * 3) == [fields] * 3
        some = dict(generator.sample(sorted(fields.items()), len(fields) // 2))
        given = {name: np.int64(v) if -(2**63) <= v < 2**63 else v for name, v in some.items()}
        whole = complete(layout, **given)
        assert whole == unpack(layout, pack(layout, **some), reserved=True)
        assert {*map(type, whole.values())} == {int}


@pytest.mark.parametrize("layout", [*LAYOUTS.values(), MIXED], ids=[*LAYOUTS, "mixed"])
def test_what_does_not_fit_a_field_is_refused(layout: data.Layout) -> None:
    for name, field in layout:
        low, high = limits(field.shape)
        for value in (low - 1, high + 1):
            with pytest.raises(
                ValueError, match=f"{name} must be from {low} to {high}, not {value}"
            ):
                pack(layout, **{str(name): value})
            with pytest.raises(ValueError, match=f"not {value}"):
                complete(layout, **{str(name): value})


def test_wrong_records() -> None:
    with pytest.raises(ValueError, match=r"field must be one of .*loss.*, not 'gain'"):
        pack(RegionStep, gain=1)
    with pytest.raises(TypeError, match=r"words must be an integer, not 1\.5"):
        pack(TileRun, words=1.5)  # type: ignore[arg-type]
    wanted = size(PrecisionUpdate)
    for raw in (b"", bytes(wanted - 1), bytes(wanted + 1)):
        with pytest.raises(ValueError, match=f"record must be {wanted} bytes .* not {len(raw)}"):
            unpack(PrecisionUpdate, raw)
    with pytest.raises(ValueError, match=f"record must be {wanted} bytes long, not 1"):
        unpack_all(PrecisionUpdate, bytes(2 * wanted + 1))
    with pytest.raises(ValueError, match="layout must be a whole number of bytes, not 9 bits"):
        size(data.StructLayout({"a": unsigned(9)}))
