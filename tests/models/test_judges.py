"""Every model has a judge that shares no code with it: who that is, and where it judges.

Gateware that equals a model proves nothing about either while both are wrong alike.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: By module: the judge, what its test must use, and the test.
JUDGES = {
    "dither": ("PyTorch's floor and ceiling", "torch", "models/test_rounding.py"),
    "dot_product": ("exact fractions", "Fraction", "models/test_dot_product.py"),
    "exact_product": ("exact sums of very different terms", "np.", "models/test_matmul.py"),
    "float": ("Berkeley SoftFloat", "softfloatpy", "models/test_float.py"),
    "formats": ("ml_dtypes", "ml_dtypes", "models/test_formats.py"),
    "granularity_unit": ("NumPy's products", " @ ", "models/test_granularity_unit.py"),
    "in_order_kernel": ("the golden sums, step by step", "reference", "models/test_matmul.py"),
    "link": ("the package cobs, and zlib", "cobs", "models/test_link.py"),
    "magnitude": ("PyTorch's extremes", "amax", "models/test_magnitude.py"),
    "matmul": ("NumPy's products", " @ ", "models/test_matmul.py"),
    "matrices": ("PyTorch's own tensors", "torch.tensor(", "host/test_operands.py"),
    "precision": ("NumPy's views", "view(", "models/test_granularity_unit.py"),
    "precision_controller": (
        "a restatement in fractions",
        "Fraction",
        "models/test_precision_controller.py",
    ),
    "quantisation": ("exact fractions", "Fraction", "models/test_quantisation.py"),
    "region_averages": ("exact fractions", "Fraction", "models/test_region_averages.py"),
    "region_manager": ("a restatement in fractions", "Fraction", "models/test_region_rules.py"),
    "region_policies": ("a restatement in fractions", "Fraction", "models/test_region_rules.py"),
    "rescale": ("exact fractions, SoftFloat", "softfloatpy", "models/test_rescale.py"),
    "rounding": ("PyTorch's own rounding", ".round()", "models/test_rounding.py"),
    "slice": ("NumPy's integers, SoftFloat", "softfloatpy", "models/test_slice.py"),
    "spread": ("exact fractions", "Fraction", "models/test_spread.py"),
    "statistics": ("exact fractions", "Fraction", "models/test_statistics.py"),
    "statistics_kernel": ("exact fractions", "Fraction", "models/test_statistics.py"),
    "statistics_reference": ("exact fractions", "Fraction", "models/test_statistics.py"),
}

#: Those that compute nothing, or only put others together behind the link.
OTHERS = {
    *("__init__", "commands", "configuration", "coprocessor", "protocol", "records"),
    *("region_settings", "surroundings"),
}


def test_every_model_has_a_judge() -> None:
    models = {path.stem for path in (ROOT / "models").glob("*.py")}
    assert models - OTHERS - set(JUDGES) == set()


@pytest.mark.parametrize("module", JUDGES)
def test_it_judges_where_it_is_said_to(module: str) -> None:
    if not (ROOT / "models" / f"{module}.py").exists():
        pytest.skip("not there yet")
    _, used, file = JUDGES[module]
    assert used in (ROOT / "tests" / file).read_text()
