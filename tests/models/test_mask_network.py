"""The mask network against decimal logarithms, exact fractions and PyTorch's gradients."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from adagrain.models.interface.loss_weights import LossWeights
from adagrain.models.mask_network import (
    FEATURE_SCALE,
    FEATURES,
    Histogram,
    MaskLayers,
    activation_features,
    at_bound,
    base_of,
    features,
    gradient_feature,
    histogram_at,
    keep_tables,
    logits,
    losses_of,
    slopes,
)
from adagrain.models.mask_network.decision_kernel import decide
from adagrain.models.mask_network.features import elements_features, moves_of, progress_feature
from adagrain.models.mask_network.layers import LAYER_SCALE, with_constant
from adagrain.models.mask_network.layers_kernel import decide_tables
from adagrain.models.numerics.half_binades import half_binade_sums
from adagrain.models.statistics import statistics


def floor_log2(value: Fraction, steps: int) -> int:
    """With 80 digits; a power of two has a logarithm that is exact."""
    with localcontext() as context:
        context.prec = 80
        quotient = Decimal(value.numerator) / Decimal(value.denominator)
        found = steps * quotient.ln() / Decimal(2).ln()
        near = found.to_integral_value()
        return int(near if abs(found - near) < Decimal("1e-60") else found.__floor__())


def clamped(value: int) -> int:
    return max(-127, min(127, value))


def central(numbers: list[Fraction], power: int) -> Fraction:
    mean = sum(numbers) / len(numbers)
    return sum((x - mean) ** power for x in numbers) / len(numbers)


def quantised(x: torch.Tensor, unit: Fraction) -> list[Fraction]:
    return [unit * round(Fraction(value) / unit) for value in x.double().tolist()]


def drawn(kind: int, generator: torch.Generator) -> torch.Tensor:
    x = torch.randn(97, generator=generator)
    return (x, x.clamp(min=0), 1e-9 * x.exp(), 3 + 1e-3 * x, x.pow(5), -torch.rand(3))[kind]


@pytest.mark.parametrize("kind", range(6))
def test_features_are_logarithms_rounded_down(kind: int, seed: int) -> None:
    x = drawn(kind, torch.Generator().manual_seed(seed))
    found = statistics(x, None)
    numbers = quantised(x, found.unit)
    mean = sum(numbers) / len(numbers)
    c2, c3, c4 = (central(numbers, power) for power in (2, 3, 4))
    wanted = (
        int(math.copysign(1, mean)) * floor_log2(1 + mean**2 / c2, 8),
        floor_log2(c2, 2),
        int(math.copysign(1, c3)) * floor_log2(1 + c3**2 / c2**3, 8),
        floor_log2(c4 / c2**2 / 3, 16),
    )
    assert activation_features(found) == tuple(map(clamped, wanted))
    energy = sum(number**2 for number in numbers)
    assert gradient_feature(found, 97 if kind < 5 else 3) == clamped(floor_log2(energy, 2))


def test_features_of_powers_of_two_are_exact() -> None:
    assert gradient_feature(statistics(torch.full((4,), 0.25), None), 4) == -4
    assert gradient_feature(statistics(torch.full((4,), 0.25), None), 64) == 4
    assert gradient_feature(statistics(torch.full((4,), 0.2499), None), 4) == -5
    assert activation_features(statistics(torch.tensor([1.0, -1.0]), None)) == (0, 0, 0, -26)


def test_features_at_their_ends() -> None:
    assert activation_features(None) == (0, 0, 0, 0)
    assert activation_features(statistics(torch.tensor([1.0, torch.nan]), None)) == (0, 0, 0, 0)
    assert activation_features(statistics(torch.full((5,), -2.0), None)) == (-127, -127, 0, 0)
    assert activation_features(statistics(torch.zeros(5), None)) == (0, -127, 0, 0)
    assert gradient_feature(statistics(torch.zeros(5), None), 5) == -127
    seen = seen_at(2.0**-6, passes=255, elements=1024, base=130, surveyed=(1, 2, 3, 4, 5))
    assert seen.dtype == np.int8 and seen.tolist() == [1, 2, 3, 4, 5, 64, 48, 40, -12]
    assert len(seen) == len(FEATURES)
    assert seen_at(1.0, base=0).tolist()[5:] == [0, -127, 0, 0]


def test_the_bound_is_a_logarithm_rounded_down(seed: int) -> None:
    for power in np.random.default_rng(seed).uniform(-25, 25, 50).tolist():
        seen = seen_at(2.0**power, base=125).tolist()
        assert seen[8] == clamped(floor_log2(Fraction(2.0**power), 2))
        assert seen[6] == clamped(-8 * 2 + floor_log2(1 / Fraction(2.0**power), 4))


def seen_at(
    bound: float,
    passes: int = 0,
    elements: int = 1,
    base: int = 0,
    surveyed: tuple[int, ...] = (0,) * 5,
) -> np.ndarray:
    """What is seen of one region."""
    known = features(np.array([surveyed]), passes, (elements,), np.array([base]))
    (seen,) = at_bound(known, bound)
    return seen


def test_other_bounds_have_the_features_of_theirs(seed: int) -> None:
    known = features(np.array([[9, 8, 7, 6, 5]] * 2), 4, (3, 70), np.array([126, 3]))
    for power in np.random.default_rng(seed).uniform(-20, 20, 20).tolist():
        for octaves in (-3, 0, 5):
            found = at_bound(known, 2.0**power, octaves)
            assert found.tolist() == at_bound(known, 2.0 ** (power + octaves)).tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"passes": -1}, "passes must be at least 0, not -1"),
        ({"elements": 0}, "elements must be at least 1, not 0"),
        ({"base": 255}, r"bases must be from 0 to 254, not \[255\]"),
        ({"bound": 0.0}, "bound must be finite and above 0, not 0"),
        ({"bound": math.nan}, "bound must be finite and above 0, not nan"),
    ],
)
def test_features_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        seen_at(**{"bound": 1.0} | given)


@pytest.mark.parametrize("above", [0, 3, -2])
def test_bins_are_half_binades_below_a_base(above: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(900, generator=generator).pow(9)
    x[:3] = torch.tensor([0.0, 1e-45, 1e-40])
    sums = half_binade_sums(x, [500, 400])
    bases = base_of(sums)
    for part, base in zip(x.split([500, 400]), bases, strict=True):
        assert base == math.frexp(part.abs().max().item())[1] - 1 + 127
    found = histogram_at(sums, bases - above)
    for region, part in enumerate(x.split([500, 400])):
        counts, energies = [0] * 64, [Fraction(0)] * 64
        for value in part.abs().tolist():
            number = half_binades_below(value, int(bases[region]) - above)
            if number >= 0 and value:
                counts[min(number, 63)] += 1
                energies[min(number, 63)] += Fraction(value) ** 2
        assert found.counts[region].tolist() == counts
        wanted = [float(energy) for energy in energies]
        np.testing.assert_allclose(found.energies[region], wanted, rtol=0.017)


def half_binades_below(value: float, base: int) -> int:
    binade = max(math.floor(math.log2(value)), -127) if value else -127
    edge = 1.5 * 2.0**binade if binade > -127 else 2.0**-127
    return 2 * (base - 127 - binade) + 1 - (value >= edge)


def test_the_base_of_zeros_is_the_lowest() -> None:
    sums = half_binade_sums(torch.tensor([0.0, -0.0, torch.inf, torch.nan]), [2, 2])
    assert base_of(sums).tolist() == [0, 0]
    assert not histogram_at(sums, [0, 0]).counts.any()


def weights(seed: int, hidden: int = 11) -> tuple[np.ndarray, ...]:
    draw = np.random.default_rng(seed)
    shapes = (10, hidden), (hidden + 1, hidden), (hidden + 1, 64)
    return tuple(draw.normal(size=shape).astype(np.float32) for shape in shapes)


def seen_by(seed: int, regions: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-127, 128, (regions, 9)).astype(np.int8)


def test_the_network_is_exact_to_the_bit(seed: int) -> None:
    """Sums, roundings and clamps in fractions; only the integer weights are the model's."""
    layers, seen = MaskLayers.of(weights(seed)), seen_by(seed, 5)
    found = logits(layers, seen)
    for row, outputs in zip(seen.tolist(), found.tolist(), strict=True):
        numbers, scale = [*row, 32], Fraction(FEATURE_SCALE)
        for matrix, scales in layers.matrices():
            columns = zip(matrix.t().tolist(), scales, strict=True)
            sums = [
                Fraction(own) * scale * sum(x * w for x, w in zip(numbers, column, strict=True))
                for column, own in columns
            ]
            scale = Fraction(LAYER_SCALE)
            numbers = [clamped(round(value / scale)) for value in sums]
        assert numbers == outputs
    assert keep_tables(layers, seen).tolist() == (found > 0).tolist()
    assert found.any() and (found > 0).any() and (found <= 0).any()


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e12])
def test_compiled_keep_tables_are_the_golden_ones(scale: float, seed: int) -> None:
    given, seen = weights(seed, hidden=31), seen_by(seed, 17)
    given = tuple(np.float32(scale) * own for own in given)
    whole = *map(with_constant, given[:-1]), given[-1]
    wanted = keep_tables(MaskLayers.of(given), seen)
    tables = np.zeros_like(wanted)
    assert decide_tables(whole, seen, tables)
    assert tables.tolist() == wanted.tolist()
    assert wanted.any() or scale < 1


@pytest.mark.parametrize("shown", [0, 6, 8])
def test_decisions_in_one_call_are_those_of_their_parts(shown: int, seed: int) -> None:
    draw, given = np.random.default_rng(seed), weights(seed, hidden=31)
    surveyed, sizes, bases = draw.integers(-127, 128, (5, 5)), (3, 70, 1, 900, 8), range(99, 104)
    about = surveyed, progress_feature(70), np.array(bases), elements_features(sizes)
    whole = *map(with_constant, given[:-1]), given[-1]
    known, tables = np.empty((5, 9), dtype=np.int64), np.empty((5, 64), dtype=np.bool_)
    for bound in (2.0**-40, 3e-4, 1e10):
        assert decide(whole, about, (*moves_of(bound), shown), (known, tables))
        assert known.tolist() == features(surveyed, 70, sizes, np.array(bases)).tolist()
        seen = at_bound(known, bound, shown=shown)
        assert not seen[:, shown:-1].any()
        assert (seen == at_bound(known, bound))[:, [*range(shown), -1]].all()
        assert tables.tolist() == keep_tables(MaskLayers.of(given), seen).tolist()


@pytest.mark.parametrize(
    ("weight", "base"), [(np.nan, 3), (np.inf, 3), (2.0**60, 3), (np.nan, -1), (np.nan, 255)]
)
def test_compiled_decisions_need_finite_weights_and_exponents(weight: float, base: int) -> None:
    given = [*map(with_constant, weights(0)[:-1]), weights(0)[-1]]
    about = np.zeros((2, 5), dtype=np.int64), 1, np.array([3, base]), np.zeros(2, dtype=np.int64)
    found = np.empty((2, 9), dtype=np.int64), np.empty((2, 64), dtype=np.bool_)
    assert decide(tuple(given), about, (0, 0, 8), found) == (0 <= base < 255)
    given[1][3, 4] = weight
    assert not decide(tuple(given), about, (0, 0, 8), found)


def test_the_network_is_near_to_that_of_its_weights(seed: int) -> None:
    given, seen = weights(seed), seen_by(seed, 20)
    values = np.concatenate([seen * FEATURE_SCALE, np.ones((20, 1))], axis=1)
    for own in given[:-1]:
        hidden = np.clip(values @ own, -127 / 128, 127 / 128)
        values = np.concatenate([hidden, np.full((20, 1), 127 / 128)], axis=1)
    wanted = np.clip(values @ given[-1], -127 / 128, 127 / 128)
    found = logits(MaskLayers.of(given), seen) * LAYER_SCALE
    assert np.abs(found - wanted).mean() < 0.03


def test_a_hidden_number_is_a_bounded_relu_less_one() -> None:
    one = np.zeros((10, 1), dtype=np.float32)
    one[0, 0], one[-1, 0] = 1.0, -1.0
    through = np.array([[1.0], [0.0]], dtype=np.float32)
    last = np.zeros((2, 64), dtype=np.float32)
    last[0] = 1.0
    seen = np.zeros((4, 9), dtype=np.int8)
    seen[:, 0] = -20, 0, 16, 120
    found = logits(MaskLayers.of((one, through, last)), seen)[:, 0]
    assert found.tolist() == [-127, -127, -64, 127]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda w: (w[0][:9], *w[1:]),
            r"weights must be of shapes \[\(10, 11\), .*, not \[\(9, 11",
        ),
        (lambda w: w[:2], r"weights must be of shapes .*, not \[\(10, 11\), \(12, 11\)\]"),
        (lambda w: (w[0] * np.nan, *w[1:]), "weights must be finite and below .*: .* are not"),
    ],
)
def test_weights_that_cannot_be(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MaskLayers.of(change(weights(0)))


def test_losses_are_those_of_the_elements(seed: int) -> None:
    """Told element by element, and what they change by as PyTorch finds it."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(600, generator=generator).pow(3).bfloat16().float()
    regions = torch.arange(600) // 200
    sums = half_binade_sums(x, [200] * 3)
    bases = base_of(sums)
    bins = torch.tensor(
        [
            min(half_binades_below(abs(v), int(bases[i // 200])), 63)
            for i, v in enumerate(x.tolist())
        ]
    )
    p = torch.rand((3, 64), generator=generator, requires_grad=True)
    bits, value = (torch.rand((3, 64), generator=generator) for _ in range(2))
    kept, worth = p[regions, bins], value[regions, bins] * x**2
    wanted = (
        (worth * (1 - kept)).sum() / worth.sum(),
        kept.mean(),
        (kept * bits[regions, bins]).mean() / 16,
    )
    histogram = histogram_at(sums, bases)
    arrays = histogram, p.detach().numpy(), bits.numpy(), value.numpy()
    assert losses_of(*arrays) == pytest.approx([loss.item() for loss in wanted], rel=1e-5)
    chosen = LossWeights(0.5, 2.0, 3.0)
    (0.5 * wanted[0] + 7 * (2.0 * wanted[1] + 3.0 * wanted[2])).backward()
    gain, cost = slopes(histogram, bits.numpy(), chosen, 7.0, value.numpy())
    np.testing.assert_allclose(cost - gain, p.grad.numpy(), rtol=1e-3, atol=1e-7)


def test_losses_of_nothing_are_nothing() -> None:
    nothing = Histogram(np.zeros((2, 64)), np.zeros((2, 64)))
    ones = np.ones((2, 64))
    assert losses_of(nothing, ones, ones) == (0, 0, 0)
    assert not any(part.any() for part in slopes(nothing, ones, LossWeights(), 1.0))


def test_energies_may_be_a_part_of_another_sum() -> None:
    histogram = Histogram(np.ones((2, 64)), np.full((2, 64), 0.5))
    given = histogram, np.full((2, 64), 16.0), LossWeights(3.0, 1.0, 1.0), 2.0
    own, other = slopes(*given), slopes(*given, energy=6.0)
    assert (own.gain == 3 / 128).all() and (other.gain == 0.25).all()
    assert (own.cost == 4 / 128).all() and (other.cost == own.cost).all()
