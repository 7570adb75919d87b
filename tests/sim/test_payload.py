"""Payloads as Python values."""

import enum
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Shape, signed, unsigned
from amaranth.lib import data
from hypothesis import given
from hypothesis import strategies as st

from adagrain.sim.compiled.ports import StreamPort
from adagrain.sim.simulators.payload import decode, encode
from adagrain.sim.simulators.stimulus import Columns


class Colour(enum.Enum):
    RED = 0
    BLUE = 5


class Point(data.Struct):
    x: signed(5)  # type: ignore[valid-type]
    y: signed(5)  # type: ignore[valid-type]


NESTED = data.StructLayout(
    {"points": data.ArrayLayout(Point, 3), "flag": 1, "colour": Colour, "rest": unsigned(70)}
)

#: Fields of at most 64 bits, two of which lie across words of 64.
NARROW = data.StructLayout(
    {"points": data.ArrayLayout(Point, 3), "wide": 50, "flag": 1, "whole": unsigned(64)}
)


@given(st.integers(0, (1 << Shape.cast(NESTED).width) - 1))
def test_encode_is_the_inverse_of_decode(bits: int) -> None:
    assert encode(NESTED, decode(NESTED, bits)) == bits


@given(st.integers(0, (1 << Shape.cast(NESTED).width) - 1))
def test_values_are_those_of_the_layout(bits: int) -> None:
    constant = NESTED.from_bits(bits)
    value = decode(NESTED, bits)
    assert [point["x"] for point in value["points"]] == [p.x for p in constant.points]
    assert value["flag"] == constant.flag
    assert value["rest"] == constant.rest


@pytest.mark.parametrize(
    ("shape", "value", "bits"),
    [
        (8, 200, 200),
        (signed(8), -1, 255),
        (range(10), 9, 9),
        (Colour, 5, 5),
        (Point, {"x": -1, "y": 1}, 0b00001_11111),
        (Point, {"y": -16}, 0b10000_00000),
        (data.ArrayLayout(4, 2), [1, 2], 0x21),
    ],
)
def test_examples(shape: Any, value: Any, bits: int) -> None:
    assert encode(shape, value) == bits
    assert encode(shape, decode(shape, bits)) == bits


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        (8, 256, "value must be from 0 to 255, not 256"),
        (signed(8), -129, "value must be from -128 to 127, not -129"),
        (Point, {"z": 1}, "fields must be of x, y, not z"),
        (data.ArrayLayout(4, 2), [1], "array must have 2 elements, not 1"),
    ],
)
def test_what_does_not_fit_is_refused(shape: Any, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(shape, value)


@given(st.lists(st.integers(0, (1 << Shape.cast(NARROW).width) - 1), min_size=1, max_size=5))
def test_columns_are_encoded_as_their_elements(bits: list[int]) -> None:
    elements = [decode(NARROW, one) for one in bits]
    columns = Columns(
        {
            "points": [
                {axis: np.array([e["points"][at][axis] for e in elements]) for axis in ("x", "y")}
                for at in range(3)
            ],
            **{
                name: np.array([e[name] for e in elements], dtype=np.uint64)
                for name in ("wide", "flag", "whole")
            },
        }
    )
    assert len(columns) == len(elements)
    assert columns.elements() == elements
    words = columns.encode(NARROW)
    assert [int.from_bytes(row.tobytes(), "little") for row in words] == bits
    port = StreamPort("o", NARROW)
    assert (port.encode(columns) == port.encode(elements)).all()
    assert port.decode(port.encode(columns)) == elements


@pytest.mark.parametrize(
    ("shape", "fields", "message"),
    [
        (8, np.array([0, 256]), "value must be from 0 to 255, not 256"),
        (signed(8), np.array([0, -129]), "value must be from -128 to 127, not -129"),
        (Point, {"z": np.array([1])}, "fields must be of x, y, not z"),
        (data.ArrayLayout(4, 2), [np.array([1])], "array must have 2 elements, not 1"),
    ],
)
def test_columns_that_do_not_fit_are_refused(shape: Any, fields: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Columns(fields).encode(shape)
