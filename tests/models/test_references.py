"""Every model has a reference that shares no code with it: which one, and where it is used.

Gateware that equals a model proves nothing about either while both are wrong alike.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: By module: the reference, what its test must use, and the test.
REFERENCES = {
    "codec/block_numbers": ("strings of bits", "frame_of", "models/test_codec.py"),
    "codec/bits": ("strings of bits", "codec_reference", "models/test_codec.py"),
    "codec/canonical": ("strings of bits", "codec_reference", "models/test_codec_tables.py"),
    "codec/choice": ("strings of bits", "element_bits", "models/test_codec.py"),
    "codec/bases_kernel": ("strings of bits", "frame_of", "models/test_codec.py"),
    "codec/choice_kernel": ("strings of bits", "element_bits", "models/test_codec_tables.py"),
    "codec/decoder": ("strings of bits", "codec_reference", "models/test_codec_refusals.py"),
    "codec/decoder_kernel": ("strings of bits", "codec_reference", "models/test_codec_refusals.py"),
    "codec/elements": ("strings of bits", "element_bits", "models/test_codec.py"),
    "codec/encoder": ("strings of bits", "frame_of", "models/test_codec.py"),
    "codec/encoder_kernel": ("strings of bits", "frame_of", "models/test_codec.py"),
    "codec/assembly": ("strings of bits", "frame_of", "models/test_codec.py"),
    "codec/dissection": ("strings of bits", "read_frame", "models/test_codec_refusals.py"),
    "codec/mantissa": ("exact fractions", "Fraction", "models/test_codec_mantissa.py"),
    "codec/package_merge": ("an exhaustive search", "least(", "models/test_codec_tables.py"),
    "codec/parser_kernel": ("strings of bits", "read_frame", "models/test_codec_refusals.py"),
    "codec/writer_kernel": ("strings of bits", "frame_of", "models/test_codec.py"),
    "codec/table": ("strings of bits", "codes_of", "models/test_codec_tables.py"),
    "difference": ("exact fractions", "Fraction", "models/test_difference.py"),
    "difference_kernel": ("exact fractions", "Fraction", "models/test_difference.py"),
    "numerics/stochastic_rounding": (
        "PyTorch's floor and ceiling",
        "torch",
        "models/test_rounding.py",
    ),
    "dot_product": ("exact fractions", "Fraction", "models/test_dot_product.py"),
    "numerics/exact_product": (
        "exact sums",
        "np.",
        "models/test_matmul.py",
    ),
    "arithmetic/float/add": ("Berkeley SoftFloat", "softfloatpy", "models/test_float.py"),
    "arithmetic/float/convert": ("Berkeley SoftFloat", "softfloatpy", "models/test_float.py"),
    "arithmetic/float/multiply": ("Berkeley SoftFloat", "softfloatpy", "models/test_float.py"),
    "arithmetic/float/operand": ("Berkeley SoftFloat", "softfloatpy", "models/test_float.py"),
    "arithmetic/float/round": ("Berkeley SoftFloat", "softfloatpy", "models/test_float.py"),
    "arithmetic/float/values": ("Berkeley SoftFloat", "softfloatpy", "models/test_float.py"),
    "interface/formats": ("ml_dtypes", "ml_dtypes", "models/test_formats.py"),
    "granularity_unit/tiles": ("NumPy's products", " @ ", "models/test_granularity_unit.py"),
    "numerics/half_binades": (
        "the statistics",
        "statistics",
        "host/test_compression_rounding.py",
    ),
    "numerics/largest": ("a sort", "argsort", "models/test_largest.py"),
    "numerics/in_order_kernel": (
        "the golden sums",
        "reference",
        "models/test_matmul.py",
    ),
    "link": ("the package cobs, and zlib", "cobs", "models/test_link.py"),
    "mask": ("logarithms", "log2", "models/test_mask.py"),
    "mask_kernel": ("the golden mask", "masked(", "models/test_mask.py"),
    "mask_network/decision_kernel": (
        "the golden network",
        "keep_tables(",
        "models/test_mask_network.py",
    ),
    "mask_network/features": ("decimal logarithms", "Decimal", "models/test_mask_network.py"),
    "mask_network/histogram": ("logarithms", "log2", "models/test_mask_network.py"),
    "mask_network/layers": ("exact fractions", "Fraction", "models/test_mask_network.py"),
    "mask_network/layers_kernel": (
        "the golden network",
        "keep_tables(",
        "models/test_mask_network.py",
    ),
    "mask_network/losses": ("PyTorch's gradients", "backward", "models/test_mask_network.py"),
    "mask_network/sampling": (
        "the plain statistics",
        "statistics(",
        "models/test_mask_sampling.py",
    ),
    "numerics/magnitude": ("PyTorch's extremes", "amax", "models/test_magnitude.py"),
    "numerics/matmul": ("NumPy's products", " @ ", "models/test_matmul.py"),
    "numerics/matrices": ("PyTorch's own tensors", "torch.tensor(", "host/test_operands.py"),
    "interface/precision": ("NumPy's views", "view(", "models/test_granularity_unit.py"),
    "precision_controller/table": (
        "fractions",
        "Fraction",
        "models/test_precision_controller.py",
    ),
    "numerics/quantisation": ("exact fractions", "Fraction", "models/test_quantisation.py"),
    "region_manager/averages": ("exact fractions", "Fraction", "models/test_region_averages.py"),
    "region_manager/table": (
        "fractions",
        "Fraction",
        "models/test_region_rules.py",
    ),
    "region_manager/policies": (
        "fractions",
        "Fraction",
        "models/test_region_rules.py",
    ),
    "rescale": ("exact fractions, SoftFloat", "softfloatpy", "models/test_rescale.py"),
    "numerics/rounding": ("PyTorch's own rounding", ".round()", "models/test_rounding.py"),
    "slice": ("NumPy's integers, SoftFloat", "softfloatpy", "models/test_slice.py"),
    "numerics/normalised_variance": (
        "exact fractions",
        "Fraction",
        "models/test_normalised_variance.py",
    ),
    "statistics/statistics": ("exact fractions", "Fraction", "models/test_statistics.py"),
    "statistics/sums": (
        "single passes",
        "statistics(",
        "models/test_statistics_of.py",
    ),
    "statistics/energy": ("the plain statistics", "statistics(", "models/test_energy.py"),
    "statistics/energy_kernel": ("the plain statistics", "statistics(", "models/test_energy.py"),
    "statistics/batch": ("single passes", "statistics(", "models/test_statistics_of.py"),
    "statistics/kernel": ("exact fractions", "Fraction", "models/test_statistics.py"),
    "statistics/sums_kernel": ("exact fractions", "Fraction", "models/test_statistics.py"),
    "statistics/reference": ("exact fractions", "Fraction", "models/test_statistics.py"),
    "statistics/result": ("exact fractions", "Fraction", "models/test_statistics.py"),
}

#: Those that compute nothing, or only put others together behind the link.
OTHERS = {
    "numerics/addresses",
    "arguments",
    "codec/counts",
    "codec/defaults",
    "codec/errors",
    "codec/parts",
    "numerics/surroundings",
    "region_manager/settings",
}
#: Names of files of that kind, and the folders of which all are: descriptors, the device.
DECLARING = {"__init__", "commands"}
FOLDERS = ("interface/", "device/")


def test_every_model_has_a_reference() -> None:
    paths = [path.relative_to(ROOT / "models") for path in (ROOT / "models").rglob("*.py")]
    models = {str(path.with_suffix("")) for path in paths if path.stem not in DECLARING}
    computing = {model for model in models if not model.startswith(FOLDERS)} - OTHERS
    assert computing - set(REFERENCES) == set()
    assert set(REFERENCES) | OTHERS <= models, "references of models that there are not"


@pytest.mark.parametrize("module", REFERENCES)
def test_it_is_used_where_it_is_said_to(module: str) -> None:
    _, used, file = REFERENCES[module]
    assert used in (ROOT / "tests" / file).read_text()
