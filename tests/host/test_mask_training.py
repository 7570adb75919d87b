"""The training of the mask generation network against PyTorch's gradients and its Adam."""

import numpy as np
import pytest
import torch

from adagrain.host.compression.learned.code_bits import CodeBits, bits_at
from adagrain.host.compression.learned.price import REACH, Price, best_price
from adagrain.host.compression.learned.slopes_kernel import find_slopes
from adagrain.host.compression.learned.training import Lesson, MaskTraining
from adagrain.host.compression.learned.training_kernel import SHARPNESS, find_gradients, layers_of
from adagrain.models.interface.loss_weights import LossWeights
from adagrain.models.mask_network import (
    Slopes,
    at_bound,
    base_of,
    features,
    histogram_at,
    keep_tables,
    slopes,
)
from adagrain.models.numerics.half_binades import half_binade_sums


def test_gradients_are_those_that_pytorch_finds(seed: int) -> None:
    draw = np.random.default_rng(seed)
    training = MaskTraining(7, 0.01, seed)
    seen = draw.integers(-127, 128, (5, 9)).astype(np.int8)
    gain, cost = draw.random((2, 5, 64))
    layers, slopes = (layers_of(training._memory[row], 7) for row in (0, 3))
    *hidden, last = map(torch.from_numpy, layers)
    weights = [own.clone().requires_grad_() for own in (*(w[:, :-1] for w in hidden), last)]
    one = 127 / 128
    x = torch.cat([torch.from_numpy(seen / 32).float(), torch.ones(len(seen), 1)], dim=1)
    for own in weights[:-1]:
        x = torch.cat([(x @ own).clamp(-one, one), torch.full((len(seen), 1), one)], dim=1)
    p = torch.sigmoid(x @ weights[-1])
    entropy = -(p * p.log() + (1 - p) * (1 - p).log())
    gains, costs = map(torch.from_numpy, (gain, cost))
    loss = ((costs - gains) * p - (costs + gains) / SHARPNESS * entropy).sum()
    loss.backward()
    find_gradients(layers, seen, gain, cost, slopes)
    found = [*map(torch.from_numpy, slopes)]
    assert not any(own[:, -1].any() for own in found[:-1]), "the constants stay"
    found = [*(own[:, :-1] for own in found[:-1]), found[-1]]
    for own, gradient in zip(weights, found, strict=True):
        torch.testing.assert_close(gradient, own.grad, rtol=1e-3, atol=1e-5)


def test_steps_are_those_of_adam_at_prices_in_turn(seed: int) -> None:
    draw, training = np.random.default_rng(seed), MaskTraining(7, 0.01, seed)
    weights, gradients = training._memory[0], training._memory[3]
    wanted = torch.from_numpy(weights.copy())
    other = torch.optim.Adam([wanted], lr=0.01, betas=(0.9, 0.99))
    sums, bases = some_shares(draw)
    for octaves in (-3, 0, 3, 0, -3, 0):
        code, value = CodeBits(bases, 20 * draw.random((3, 32))), draw.random((3, 64))
        known, price = draw.integers(-150, 151, (3, 9)), float(draw.random())
        met = sums, bases, *code, value
        gain, cost, _ = find_slopes(met, (1.0, 1.0, 1.0, price * 2.0**octaves, 3.0))
        seen = at_bound(known, 2.0 ** (octaves - 5), shown=6)
        find_gradients(layers_of(weights, 7), seen, gain, cost, layers_of(gradients, 7))
        wanted.grad = torch.from_numpy(gradients.copy())
        training.learn(Lesson(met, (1.0, 1.0, 1.0, price, 3.0), known, 2.0**-5, 6))
        other.step()
        torch.testing.assert_close(torch.from_numpy(weights), wanted)


def test_several_steps_are_as_many_single_ones(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sums, bases = some_shares(draw)
    code = CodeBits(bases, 20 * draw.random((3, 32)))
    met, terms = (sums, bases, *code, np.ones((3, 64))), (1.0, 1.0, 1.0, 0.1, 3.0)
    lesson = Lesson(met, terms, draw.integers(-127, 128, (3, 9)), 2.0**-5, 8)
    once, often = MaskTraining(7, 0.01, seed), MaskTraining(7, 0.01, seed)
    once.learn(lesson, times=9)
    for _ in range(9):
        often.learn(lesson)
    assert (once._memory == often._memory).all()


@pytest.mark.parametrize("shown", [0, 6, 8])
def test_a_step_and_a_decision_in_one_are_both_after_each_other(shown: int, seed: int) -> None:
    """The decision, on other regions, is the golden network's, bit for bit."""
    draw = np.random.default_rng(seed)
    sums, bases = some_shares(draw)
    met, terms = (sums, bases, bases, 20 * draw.random((3, 32)), np.ones((3, 64))), (1.0,) * 5
    once, after = MaskTraining(31, 0.1, seed), MaskTraining(31, 0.1, seed)
    for passes in range(4):
        lesson = Lesson(met, terms, draw.integers(-150, 151, (3, 9)), float(draw.random()), shown)
        given = (
            draw.integers(-127, 128, (5, 5)),
            passes,
            (3, 70, 1, 900, 8),
            draw.integers(0, 255, 5),
        )
        known, tables = once.learn_and_decide(lesson, *given, 3)
        after.learn(lesson, 3)
        assert (once._memory == after._memory).all()
        assert known.tolist() == features(*given).tolist()
        seen = at_bound(known, lesson.bound, shown=shown)
        assert tables.tolist() == keep_tables(after.layers(), seen).tolist()


@pytest.mark.parametrize(("weight", "base"), [(np.nan, 3), (np.inf, 3), (0.5, -1), (0.5, 255)])
def test_decisions_need_finite_weights_and_exponents(weight: float, base: int, seed: int) -> None:
    sums, bases = some_shares(np.random.default_rng(seed))
    training = MaskTraining(5, 0.01, seed)
    training._memory[0, 3] = weight
    met = sums, bases, bases, np.full((3, 32), 12.0), np.ones((3, 64))
    lesson = Lesson(met, (1.0,) * 5, np.zeros((3, 9), dtype=np.int64), 1.0, 8)
    about = np.zeros((2, 5), dtype=np.int64), 1, (9, 9), np.array([3, base])
    with pytest.raises(ValueError, match=r"weights must be finite and below 2\*\*60, and bases"):
        training.learn_and_decide(lesson, *about)


def test_steps_lead_to_what_gains_more_than_it_costs(seed: int) -> None:
    """At the price in force, and at others that it may move to."""
    draw, training = np.random.default_rng(seed), MaskTraining(31, 0.01, 0)
    sums, bases = some_shares(draw)
    met = sums, bases, bases, np.full((3, 32), 12.0), np.ones((3, 64))
    known, bound = features(np.zeros((3, 5), dtype=np.int64), 0, (700, 200, 9), bases), 0.75
    for _ in range(1000):
        training.learn(Lesson(met, (1.0, 0.0, 1.0, 1.0, 909.0), known, bound, 8))
    for octaves, most in ((-3, 0.15), (0, 0.05), (3, 0.15)):
        gain, cost, counts = find_slopes(met, (1.0, 0.0, 1.0, 2.0**octaves, 909.0))
        kept = keep_tables(training.layers(), at_bound(known, bound, octaves))
        clear = (gain > 2 * cost) | (cost > 2 * gain)
        assert counts[clear & (kept != (gain > cost))].sum() < most * counts[clear].sum()


def some_shares(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Half binades of three shares, and their bases."""
    elements = torch.from_numpy(draw.normal(size=909).astype(np.float32) ** 7)
    sums = half_binade_sums(elements, (700, 200, 9))
    return sums, base_of(sums)


def test_compiled_slopes_are_the_golden_ones(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sums, bases = some_shares(draw)
    bases -= draw.integers(-2, 3, 3)
    code = CodeBits(draw.integers(100, 150, 3), 20 * draw.random((3, 32)))
    value, prices = draw.random((3, 64)), (LossWeights(0.5, 2.0, 3.0), 7.0)
    for energy in (3.0, 1e-9):
        met, (weights, price) = (sums, bases, *code, value), prices
        found = find_slopes(met, (*weights, price, energy))
        histogram = histogram_at(sums, bases)
        wanted = slopes(histogram, bits_at(code, bases), *prices, value, energy)
        for own, golden in zip(found, (*wanted, histogram.counts), strict=True):
            np.testing.assert_allclose(own, golden, rtol=1e-12)


def test_a_price_is_near_by_the_slopes_of_what_was_met(seed: int) -> None:
    draw, found = np.random.default_rng(seed), set()
    for _ in range(100):
        sums, bases = some_shares(draw)
        met = sums, bases, bases, 20 * draw.random((3, 32)), draw.random((3, 64))
        terms, price = (1.0, 1.0, 1.0, 1.0, 909.0), Price(0.1)
        wanted, price.value = 909 * draw.random(), 10 ** draw.uniform(-6, 3)
        gain, cost, counts = find_slopes(met, terms)
        best = best_price(Slopes(gain, cost), counts, wanted)
        is_near = price.value / REACH <= best <= price.value * REACH
        assert price.is_near(met, terms, wanted) == is_near
        found.add(is_near)
    assert len(found) == 2
