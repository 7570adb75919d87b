"""The golden slice against NumPy's integers and SoftFloat."""

import numpy as np
import pytest
import softfloatpy

from adagrain.models.interface.precision import Operation, Precision
from adagrain.models.slice import compute

COUNT = 300
SOFT = {Precision.FP32: (softfloatpy.Float32, "f32"), Precision.FP16: (softfloatpy.Float16, "f16")}


def random_words(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 1 << 32, (2, COUNT))
    b[::3] = a[::3] ^ (1 << 31)  # opposites: sums that cancel, and squares
    return a, b


@pytest.mark.parametrize("seed", range(3))
def test_products_of_int8(seed: int) -> None:
    a, b = random_words(seed)
    x, y = (side.astype("<u4").view("i1").reshape(-1, 4).astype(int) for side in (a, b))
    found = compute(a, b, Precision.INT8, Operation.MULTIPLY)
    assert found.lanes.tolist() == (x * y & 0xFFFF).tolist()
    assert not found.flags.any()


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_two_products_of_int4(seed: int) -> None:
    a, b = random_words(seed)
    x, y = (
        np.array([[(int(word) >> 4 * place & 15 ^ 8) - 8 for place in range(8)] for word in side])
        for side in (a, b)
    )
    found = compute(a, b, Precision.INT4, Operation.MULTIPLY)
    products = x * y
    assert found.lanes.tolist() == (products[:, ::2] + products[:, 1::2] & 0xFFFF).tolist()
    assert not found.flags.any()


@pytest.mark.parametrize("operation", Operation, ids=lambda o: o.name)
@pytest.mark.parametrize("precision", SOFT, ids=lambda p: p.name)
def test_numbers_of_floating_point(precision: Precision, operation: Operation) -> None:
    kind, prefix = SOFT[precision]
    apply = getattr(softfloatpy, f"{prefix}_{'mul' if operation is Operation.MULTIPLY else 'add'}")
    softfloatpy.set_tininess_mode(softfloatpy.TininessMode.AFTER_ROUNDING)
    a, b = random_words(1)
    found = compute(a, b, precision, operation)
    raw = precision.bits // 8
    for at in range(COUNT):
        word, flags = b"", list[int]()
        for place in range(precision.lanes):
            part = slice(raw * place, raw * (place + 1))
            pair = (int(side[at]).to_bytes(4, "little")[part][::-1] for side in (a, b))
            softfloatpy.set_exception_flags(softfloatpy.ExceptionFlag(0))
            word += apply(*map(kind.from_bytes, pair)).to_bytes()[::-1]
            flags.append(int(softfloatpy.get_exception_flags()))
        lanes = [int.from_bytes(word[at : at + 2], "little") for at in (0, 2)]
        assert found.lanes[at].tolist() == [*lanes, 0, 0]
        assert found.flags[at].tolist() == [*flags, 0][:2]
