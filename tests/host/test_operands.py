"""Operands, scales and precisions that a product takes, and those that it refuses by name."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from matrices import GRANULAR

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.matmul import matmul, reference, to_tensor
from adagrain.models.numerics.matrices import DTYPES

ROWS, COLUMNS = [[1, -2, 3], [4, 5, -6]], [[7, 0], [-8, 1], [2, 3]]
ONES = torch.ones(2, 2)


@pytest.fixture(scope="module")
def device() -> Iterator[Coprocessor]:
    with adagrain.open_device("golden:", GRANULAR) as opened:
        yield opened


@pytest.mark.parametrize("precision", Precision, ids=lambda p: p.name)
def test_lists_arrays_and_tensors_are_alike(device: Coprocessor, precision: Precision) -> None:
    tensors = [torch.tensor(numbers, dtype=DTYPES[precision]) for numbers in (ROWS, COLUMNS)]
    wanted = matmul(*tensors, precision)
    arrays = [np.asfortranarray(tensor.numpy()) for tensor in tensors]
    arrays[1].setflags(write=False)
    reversed_ones = [tensor.numpy()[::-1, ::-1] for tensor in tensors]
    for given in (
        (ROWS, COLUMNS),
        ([tuple(row) for row in ROWS], COLUMNS),
        arrays,
        [tensor.t().contiguous().t() for tensor in tensors],
    ):
        assert torch.equal(matmul(*given, precision.name), wanted)
        assert torch.equal(reference(*given, precision.name)[0], wanted)
        assert torch.equal(device.matmul(*given, precision.name).values, wanted)
    assert torch.equal(device.matmul(*reversed_ones, precision).values, wanted.flip(0, 1))
    if not precision.integer:
        tensors[0].requires_grad_()
        assert torch.equal(device.matmul(*tensors, precision).values, wanted)


def test_numbers_in_lists_are_rounded_once() -> None:
    nearly = 1 + 2**-11 + 2**-40  # a tie, once it is a float32
    assert matmul([[nearly]], [[1]], "FP16").item() == 1 + 2**-10
    assert matmul([[2.0**-25 + 2**-60]], [[1.0]], "FP16").item() == 2.0**-24
    assert matmul([[2**24 + 3]], [[1]], "FP32").item() == 2.0**24 + 4
    assert matmul([[torch.inf]], [[1.0]], "FP16").item() == torch.inf


def test_negative_views_are_what_they_stand_for() -> None:
    view = torch.tensor([[1 + 2j]]).conj().imag
    assert view.is_neg()
    assert matmul(view, [[3.0]], "FP32").item() == -6


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0), (0, 3, 0), (2, 0, 4), (0, 0, 0)], ids=str)
@pytest.mark.parametrize("precision", Precision, ids=lambda p: p.name)
def test_products_with_an_empty_dimension(
    device: Coprocessor, precision: Precision, shape: tuple[int, int, int]
) -> None:
    m, k, n = shape
    a, b = (torch.zeros(s, dtype=DTYPES[precision]) for s in ((m, k), (k, n)))
    wanted = (a.float() @ b.float()).to(to_tensor(np.zeros((1, 1)), precision).dtype)
    options: list[dict[str, Any]] = [{}, {"to": "FP16"}, {"to": "INT4", "to_scale": 8.0}]
    if precision.integer:
        options += [{"scales": (2.0, [4.0] * n)}, {"scales": (2.0, 4.0), "to": "INT8"}]
    for given in (matmul(a, b, precision), reference(a, b, precision)[0]):
        assert (given.dtype, given.shape) == (wanted.dtype, wanted.shape)
        assert torch.equal(given, wanted)
    for option in options:
        found = device.matmul(a, b, precision, **option)
        assert torch.equal(found.values, wanted.to(found.values.dtype))
        assert (found.flags.shape, found.flags.any().item()) == ((m, n), False)
        assert (found.busy, found.bytes_moved) == (0, 0)


@pytest.mark.parametrize(
    ("a", "b", "precision", "error", "message"),
    [
        (None, ONES, "FP32", TypeError, "a must be a tensor, an array or nested lists, not None"),
        (ONES, "ones", "FP32", TypeError, "b must be a tensor, an array or .* lists, not 'ones'"),
        (ONES, 3.0, "FP32", TypeError, r"b must be a tensor, an array or nested lists, not 3\.0"),
        ({}, ONES, "FP32", TypeError, "a must be a tensor, an array or nested lists, not {}"),
        (ONES.to_sparse(), ONES, "FP32", TypeError,
         r"a must be a dense tensor, not one of layout torch\.sparse_coo"),
        (ONES, ONES.to_sparse(), "FP32", TypeError, "b must be a dense tensor, not one of"),
        (torch.nested.nested_tensor([ONES], layout=torch.jagged), ONES, "FP32", TypeError,
         "a must be a dense tensor, not one of layout nested"),
        (ONES.to("meta"), ONES, "FP32", TypeError,
         "a must have elements in memory, not be on device meta"),
        (ONES.to(torch.complex64), ONES, "FP32", TypeError,
         r"a must be of torch\.float32 for FP32, not torch\.complex64"),
        (ONES, ONES.double(), "FP16", TypeError, r"a must be of torch\.float16 for FP16, not"),
        (ONES.bool(), ONES, "INT8", TypeError, r"a must be of torch\.int8 for INT8, not"),
        (np.ones((2, 2)), ONES, "FP32", TypeError, "a must be of float32 for FP32, not float64"),
        (ONES, np.ones((2, 2), np.uint8), "FP32", TypeError,
         "b must be of float32 for FP32, not uint8"),
        (np.ones((2, 2), ">f4"), ONES, "FP32", TypeError, "a must be of float32 for FP32, not >f4"),
        ([[1.5]], [[1]], "INT8", TypeError,
         "a must be of whole numbers for INT8, not of float64"),
        ([[1, "x"]], [[1]], "FP32", TypeError, "a must be of numbers for FP32, not of <U21"),
        ([[1j]], [[1]], "FP32", TypeError, "a must be of numbers for FP32, not of complex128"),
        ([[None]], [[1]], "FP32", TypeError, "a must be of numbers for FP32, not of object"),
        ([[True]], [[1]], "INT8", TypeError, "a must be of whole numbers for INT8, not of bool"),
        ([[128]], [[1]], "INT8", ValueError, "a must be from -128 to 127 for INT8, not 128 to 128"),
        ([[1]], [[-9]], "INT4", ValueError, "b must be from -8 to 7 for INT4, not -9 to -9"),
        ([[65520.0]], [[1]], "FP16", ValueError, "a must be finite in FP16, not 65520"),
        ([[1]], [[1e39]], "FP32", ValueError, r"b must be finite in FP32, not 1e\+39"),
        ([[1, 2], [3]], [[1]], "INT8", ValueError,
         r"a must have rows of equal length, not \[\[1, 2\], \[3\]\]"),
        ([1, 2], [[1]], "INT8", ValueError, r"a must be a matrix, not of shape \(2,\)"),
        (ONES, ONES[None], "FP32", ValueError, r"b must be a matrix, not of shape \(1, 2, 2\)"),
        (ONES, torch.ones(3, 2), "FP32", ValueError,
         "b must have 2 rows, as many as a has columns, not 3"),
        (torch.ones(2, 0), ONES, "FP32", ValueError, "b must have 0 rows"),
        (ONES, ONES, "int8", ValueError, "precision must be one of FP32, .*, INT4, not 'int8'"),
        (ONES, ONES, None, ValueError, "precision must be one of FP32, .*, INT4, not None"),
        (ONES, ONES, 2, ValueError, "precision must be one of FP32, .*, INT4, not 2"),
        (ONES, ONES, ["FP32"], ValueError, r"precision must be one of .*, not \['FP32'\]"),
    ],
)  # fmt: skip
def test_operands_that_are_refused(
    device: Coprocessor, a: Any, b: Any, precision: Any, error: type[Exception], message: str
) -> None:
    for multiply in (matmul, reference, device.matmul):
        with pytest.raises(error, match=f"^{message}"):
            multiply(a, b, precision)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scales": 2.0}, TypeError, r"scales must be a pair, of a and of b, not 2\.0"),
        ({"scales": "ab"}, TypeError, "scales must be a pair, of a and of b, not 'ab'"),
        ({"scales": (1.0,)}, TypeError, r"scales must be a pair, of a and of b, not \(1\.0,\)"),
        ({"scales": (1.0, None)}, TypeError, "scale must be a number, or numbers, not None"),
        ({"scales": ("1", 1.0)}, TypeError, "scale must be a number, or numbers, not '1'"),
        ({"scales": (True, 1.0)}, TypeError, "scale must be a number, or numbers, not True"),
        ({"scales": (1.0, [[1.0], [1.0, 2.0]])}, TypeError, "scale must be a number, or numbers"),
        ({"scales": (1j, 1.0)}, TypeError, "scale must be a number, or numbers, not 1j"),
        ({"scales": (1.0, torch.ones(2) * 1j)}, TypeError, "scale must be a number, or numbers"),
        ({"scales": (1.0, torch.ones(2).to_sparse())}, TypeError, "scale must be a dense tensor"),
        ({"scales": (1.0, torch.ones(2).to("meta"))}, TypeError, "scale must have elements in mem"),
        ({"scales": (1.0, np.array([1.0, 3.0]))}, ValueError,
         "scale must be a positive power of two, not 3"),
        ({"scales": ([], 1.0)}, ValueError, "scales must be one of a, and one or 2 of"),
        ({"to": 3}, ValueError, "to must be one of FP32, FP16, INT8, INT4, not 3"),
        ({"to": "INT8", "to_scale": None}, TypeError,
         "to_scale must be a number, or numbers, not None"),
        ({"to": "INT8", "to_scale": "8"}, TypeError,
         "to_scale must be a number, or numbers, not '8'"),
        ({"to": "INT8", "to_scale": [1.0, 2.0]}, ValueError, "to_scale must be one number, not 2"),
        ({"to_scale": None}, ValueError, "to_scale must be 1 where to is None, not None"),
    ],
)  # fmt: skip
def test_options_that_are_refused(
    device: Coprocessor, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        device.matmul([[1, 2]], [[3, 4], [5, 6]], "INT8", **options)


def test_scales_of_any_kind_are_alike(device: Coprocessor) -> None:
    wanted = [[13 * 0.5 * 4.0, 16 * 0.5 * 8.0]]
    for columns in ([4, 8], (4.0, 8.0), np.array([4, 8]), torch.tensor([4.0, 8.0]).half()):
        for row in (0.5, np.float32(0.5), torch.tensor(0.5), [0.5]):
            found = device.matmul([[1, 2]], [[3, 4], [5, 6]], "INT8", (row, columns))
            assert found.values.tolist() == wanted
    found = device.matmul([[1, 2]], [[3, 4], [5, 6]], "INT8", to="INT8", to_scale=torch.tensor(4))
    assert (found.values.tolist(), found.scale) == ([[3, 4]], 4.0)


@pytest.mark.parametrize("surrounding", ["autocast", "flushing"])
def test_surroundings_change_no_bit(device: Coprocessor, surrounding: str) -> None:
    """Under autocast, and where subnormal numbers are flushed."""
    small = torch.full((3, 40), 2.0**-70), torch.full((40, 3), 2.0**-70)
    whole = torch.arange(-60, 60).view(3, 40).char(), torch.arange(-60, 60).view(40, 3).char()
    scales, tiny = (2.0**-75, [2.0**-75, 2.0**-70, 2.0**-60]), torch.tensor(2.0**-140)

    def everything() -> list[torch.Tensor]:
        products = [
            device.matmul(*small, "FP32"),
            device.matmul(small[0].mul(2.0**56).half(), small[1].mul(2.0**56).half(), "FP16"),
            device.matmul(*small, "FP32", to="FP32", to_scale=2.0**10),
            device.matmul(*whole, "INT8"),
            device.matmul(*whole, "INT8", scales),
            device.matmul(*whole, "INT8", (1.0, tiny)),
            device.matmul(*whole, "INT8", (2.0**-75, 2.0**-45), to="FP32"),
            device.matmul(*whole, "INT8", to="INT4", to_scale=64.0),
        ]
        return [part for found in products for part in (found.values, found.flags)]

    wanted = everything()
    assert wanted[0].all() and wanted[10].any()
    if surrounding == "autocast":
        with torch.autocast("cpu", torch.bfloat16):
            found = everything()
    else:
        torch.set_flush_denormal(True)
        try:
            found = everything()
        finally:
            torch.set_flush_denormal(False)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and one.numpy().tobytes() == other.numpy().tobytes()
