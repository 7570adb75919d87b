"""The training of the mask generation network against PyTorch's gradients and its Adam."""

import numpy as np
import torch

from adagrain.host.compression.learned.code_bits import CodeBits, bits_at
from adagrain.host.compression.learned.slopes_kernel import find_slopes
from adagrain.host.compression.learned.training import MaskTraining
from adagrain.host.compression.learned.training_kernel import SHARPNESS, find_gradients
from adagrain.models.interface.loss_weights import LossWeights
from adagrain.models.mask_network import (
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
    *hidden, last = map(torch.from_numpy, training._layers)
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
    find_gradients(training._layers, seen, gain, cost, training._slopes)
    found = [*map(torch.from_numpy, training._slopes)]
    assert not any(own[:, -1].any() for own in found[:-1]), "the constants stay"
    found = [*(own[:, :-1] for own in found[:-1]), found[-1]]
    for own, gradient in zip(weights, found, strict=True):
        torch.testing.assert_close(gradient, own.grad, rtol=1e-3, atol=1e-5)


def test_steps_are_those_of_adam_at_prices_in_turn(seed: int) -> None:
    draw, training = np.random.default_rng(seed), MaskTraining(7, 0.01, seed)
    wanted = torch.from_numpy(training._weights.copy())
    other = torch.optim.Adam([wanted], lr=0.01, betas=(0.9, 0.99))
    sums, bases = some_shares(draw)
    for octaves in (-3, 0, 3, 0, -3, 0):
        code, value = CodeBits(bases, 20 * draw.random((3, 32))), draw.random((3, 64))
        known, price = draw.integers(-150, 151, (3, 9)), float(draw.random())
        terms = sums, bases, *code, value, LossWeights(1.0, 1.0, 1.0)
        gain, cost, _ = find_slopes(*terms, price * 2.0**octaves, 3.0)
        seen = at_bound(known, 2.0 ** (octaves - 5), shown=6)
        find_gradients(training._layers, seen, gain, cost, training._slopes)
        wanted.grad = torch.from_numpy(training._gradients.copy())
        training.learn((*terms, price, 3.0), known, 2.0**-5, 6)
        other.step()
        torch.testing.assert_close(torch.from_numpy(training._weights), wanted)


def test_several_steps_are_as_many_single_ones(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sums, bases = some_shares(draw)
    code = CodeBits(bases, 20 * draw.random((3, 32)))
    terms = sums, bases, *code, np.ones((3, 64)), LossWeights(1.0, 1.0, 1.0), 0.1, 3.0
    given = terms, draw.integers(-127, 128, (3, 9)), 2.0**-5, 8
    once, often = MaskTraining(7, 0.01, seed), MaskTraining(7, 0.01, seed)
    once.learn(*given, times=9)
    for _ in range(9):
        often.learn(*given)
    assert (once._weights == often._weights).all()


def test_steps_lead_to_what_gains_more_than_it_costs(seed: int) -> None:
    """At the price in force, and at others that it may move to."""
    draw, training = np.random.default_rng(seed), MaskTraining(31, 0.01, 0)
    sums, bases = some_shares(draw)
    terms = sums, bases, bases, np.full((3, 32), 12.0), np.ones((3, 64)), LossWeights(1.0, 0.0, 1.0)
    known, bound = features(np.zeros((3, 5), dtype=np.int64), 0, (700, 200, 9), bases), 0.75
    for _ in range(1000):
        training.learn((*terms, 1.0, 909.0), known, bound, 8)
    for octaves, most in ((-3, 0.15), (0, 0.05), (3, 0.15)):
        gain, cost, counts = find_slopes(*terms, 2.0**octaves, 909.0)
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
        found = find_slopes(sums, bases, *code, value, *prices, energy)
        histogram = histogram_at(sums, bases)
        wanted = slopes(histogram, bits_at(code, bases), *prices, value, energy)
        for own, golden in zip(found, (*wanted, histogram.counts), strict=True):
            np.testing.assert_allclose(own, golden, rtol=1e-12)
