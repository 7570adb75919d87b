"""The training of the mask generation network against PyTorch's gradients and its Adam."""

import numpy as np
import torch

from adagrain.host.compression.learned.code_bits import CodeBits, bits_at
from adagrain.host.compression.learned.slopes_kernel import find_slopes
from adagrain.host.compression.learned.training import MaskTraining
from adagrain.host.compression.learned.training_kernel import SHARPNESS
from adagrain.models.interface.loss_weights import LossWeights
from adagrain.models.mask_network import Slopes, base_of, histogram_at, keep_tables, slopes
from adagrain.models.numerics.half_binades import half_binade_sums


def test_gradients_are_those_that_pytorch_finds(seed: int) -> None:
    draw = np.random.default_rng(seed)
    training = MaskTraining(7, 0.01, seed)
    seen = draw.integers(-127, 128, (10, 9)).astype(np.int8)
    gain, cost = draw.random((2, 5, 64))
    *hidden, last = map(torch.from_numpy, training._layers)
    weights = [own.clone().requires_grad_() for own in (*(w[:, :-1] for w in hidden), last)]
    one = 127 / 128
    x = torch.cat([torch.from_numpy(seen / 32).float(), torch.ones(len(seen), 1)], dim=1)
    for own in weights[:-1]:
        x = torch.cat([(x @ own).clamp(-one, one), torch.full((len(seen), 1), one)], dim=1)
    p = torch.sigmoid(x @ weights[-1])
    entropy = -(p * p.log() + (1 - p) * (1 - p).log())
    gains = torch.from_numpy(np.concatenate([gain, gain]))
    costs = torch.from_numpy(np.concatenate([cost, 4 * cost]))
    loss = ((costs - gains) * p - (costs + gains) / SHARPNESS * entropy).sum()
    loss.backward()
    found = [*map(torch.from_numpy, training.gradients(seen, Slopes(gain, cost), (1.0, 4.0)))]
    assert not any(own[:, -1].any() for own in found[:-1]), "the constants stay"
    found = [*(own[:, :-1] for own in found[:-1]), found[-1]]
    for own, gradient in zip(weights, found, strict=True):
        torch.testing.assert_close(gradient, own.grad, rtol=1e-3, atol=1e-5)


def test_steps_are_those_of_adam(seed: int) -> None:
    draw, training = np.random.default_rng(seed), MaskTraining(7, 0.01, seed)
    wanted = torch.from_numpy(training._weights.copy())
    other = torch.optim.Adam([wanted], lr=0.01, betas=(0.9, 0.99))
    for _ in range(5):
        seen = draw.integers(-127, 128, (5, 9)).astype(np.int8)
        given = Slopes(*draw.random((2, 5, 64)))
        training.gradients(seen, given)
        wanted.grad = torch.from_numpy(training._gradients.copy())
        training.step(seen, given)
        other.step()
        torch.testing.assert_close(torch.from_numpy(training._weights), wanted)


def test_steps_lead_to_what_gains_more_than_it_costs() -> None:
    training = MaskTraining(15, 0.01, 0)
    seen = np.array([[0] * 9, [50] * 9], dtype=np.int8)
    bins = np.arange(64)
    gain = np.where(bins < np.array([[5], [20]]), 3.0, 0.5)
    for _ in range(500):
        training.step(seen, Slopes(gain, np.ones((2, 64))))
    assert (keep_tables(training.layers(), seen) == (gain > 1)).all()


def test_compiled_slopes_are_the_golden_ones(seed: int) -> None:
    draw, sizes = np.random.default_rng(seed), (700, 200, 9)
    sums = half_binade_sums(torch.from_numpy(draw.normal(size=909).astype(np.float32) ** 7), sizes)
    bases = base_of(sums) - draw.integers(-2, 3, 3)
    code = CodeBits(draw.integers(100, 150, 3), 20 * draw.random((3, 32)))
    value, prices = draw.random((3, 64)), (LossWeights(0.5, 2.0, 3.0), 7.0)
    for energy in (3.0, 1e-9):
        found = find_slopes(sums, bases, *code, value, *prices, energy)
        histogram = histogram_at(sums, bases)
        wanted = slopes(histogram, bits_at(code, bases), *prices, value, energy)
        for own, golden in zip(found, (*wanted, histogram.counts), strict=True):
            np.testing.assert_allclose(own, golden, rtol=1e-12)
