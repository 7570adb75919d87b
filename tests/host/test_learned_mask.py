"""The parts of the learned mask, each against plain arithmetic of its own."""

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from layouts import layout_of
from torch import nn

from adagrain.host.compression.frames import Coded
from adagrain.host.compression.learned.code_bits import CodeBits, bits_at, code_bits, together
from adagrain.host.compression.learned.mask import LearnedMask
from adagrain.host.compression.learned.options import LearnedOptions
from adagrain.host.compression.learned.price import Price, best_price, is_within_reach
from adagrain.host.compression.options import CompressionOptions
from adagrain.host.compression.rounding import rounded, rounded_where
from adagrain.models.codec import encode, with_mantissa_bits
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask import masked
from adagrain.models.mask_network import MaskLayers, Slopes

LAYOUT = layout_of(6000, 2000, 10)


class Stream:
    """Gradients of three shares that differ by orders of magnitude, with error feedback."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self.residual = torch.zeros(LAYOUT.elements)
        self.scale = torch.cat(
            [torch.full((n,), s) for n, s in ((6000, 1.0), (2000, 0.1), (10, 8))]
        )

    def through(
        self, mask: LearnedMask, density: float, fits: int = LAYOUT.elements
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """A pass of which so many fit: what there is to send, and which elements are kept."""
        gradient = self.scale * torch.randn(LAYOUT.elements, generator=self._generator).pow(3)
        v = gradient + self.residual
        mask.look(LAYOUT, gradient)
        kept = mask.keep(v, LAYOUT, density)
        sent, most = torch.where(kept, v, 0.0).bfloat16(), torch.zeros_like(v, dtype=torch.bfloat16)
        largest = sent.abs().topk(fits).indices
        most[largest] = sent[largest]
        self.residual = v - most
        left_out = int(sent.count_nonzero() - most.count_nonzero())
        mask.heard(LAYOUT, _framed(most, left_out), most.float())
        if (sample := mask.sample()) is not None:
            mask.probed(sample.float())
        mask.end_pass(density)
        return v, kept


def _framed(sent: torch.Tensor, left_out: int = 0) -> Coded:
    frame = encode(LAYOUT.parts(sent))
    return Coded(frame, sent, len(frame), left_out)


def learned(**options: Any) -> LearnedMask:
    return LearnedMask(LearnedOptions.of(options), seed=3)


@pytest.mark.parametrize("features", ["all", "seed", "none"])
def test_the_density_is_held(features: str, seed: int) -> None:
    mask, stream = learned(features=features), Stream(seed)
    counts = [int(stream.through(mask, 0.05)[1].sum()) for _ in range(150)]
    assert sum(counts[50:]) / 100 / LAYOUT.elements == pytest.approx(0.05, rel=0.35)


def test_what_is_kept_has_most_of_the_energy(seed: int) -> None:
    mask, stream = learned(), Stream(seed)
    for _ in range(60):
        stream.through(mask, 0.05)
    kept_energy, best_energy = 0.0, 0.0
    for _ in range(20):
        v, kept = stream.through(mask, 0.05)
        squares = v.square()
        kept_energy += float(squares[kept].sum())
        best_energy += float(squares.topk(max(int(kept.sum()), 1)).values.sum())
    assert kept_energy > 0.9 * best_energy
    assert mask.losses
    assert 0 < mask.losses.reconstruction < 0.9
    assert mask.losses.sparsity == pytest.approx(int(kept.sum()) / LAYOUT.elements, rel=0.05)
    assert 0 < mask.losses.communication < 2 * mask.losses.sparsity


def test_tables_are_those_of_the_pass_before() -> None:
    mask, stream = learned(), Stream(1)
    stream.through(mask, 0.1)
    for _ in range(5):
        before = mask._decisions.of(LAYOUT.keys)
        assert before
        v, kept = stream.through(mask, 0.1)
        rows = zip(before.bases, before.tables, LAYOUT.parts(v), LAYOUT.parts(kept), strict=True)
        for base, table, own, part in rows:
            wanted = masked(own.bfloat16(), int(base), table.astype(int))
            assert torch.equal(torch.where(part, own, 0.0).bfloat16(), wanted)


@pytest.mark.parametrize("bits", range(8))
def test_tables_choose_the_same_of_rounded_elements(bits: int, seed: int) -> None:
    """So that a device can mask, which sees nothing else."""
    mask, stream = LearnedMask(LearnedOptions(), seed=3, mantissa_bits=bits), Stream(seed)
    stream.through(mask, 0.1)
    assert mask.tables() is None, "the first pass has a threshold"
    for _ in range(5):
        v, kept = stream.through(mask, 0.1)
        tables = mask.tables()
        assert tables is not None
        for table, own, part in zip(tables, LAYOUT.parts(v), LAYOUT.parts(kept), strict=True):
            found = masked(rounded(own, bits), *table).view(torch.int16)
            assert torch.equal(found, rounded_where(part, own, bits).view(torch.int16))


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_steps_are_so_many_passes_apart_behind_the_first(passes: int, seed: int) -> None:
    """The price is found in each pass."""
    mask, stream, paid = learned(step_passes=passes), Stream(seed), set[bool]()
    stream.through(mask, 0.1)
    for number in range(2, 40):
        steps, price = mask._training.state_dict()["steps"], mask.price.value
        tables = mask._decisions.of(LAYOUT.keys)
        stream.through(mask, 0.1)
        learns = number <= 16 or (number - 16) % passes == 0
        assert (mask._training.state_dict()["steps"] > steps) == learns
        assert (mask._decisions.of(LAYOUT.keys) is not tables) == learns
        paid |= {learns} if mask.price.value != price else set()
    assert paid == {True, passes == 1}


def test_the_first_pass_and_one_behind_none_have_a_threshold() -> None:
    mask, stream = learned(), Stream(1)
    for _ in range(2):
        v, kept = stream.through(mask, 0.1)
        assert v[kept].abs().min() >= v[~kept].abs().max()
        assert kept.sum() == pytest.approx(800, rel=0.1)
        mask.end_pass(0.1)  # that of a pass which masked nothing


@pytest.mark.parametrize("passes", [9, 17, 18])
def test_a_mask_goes_on_from_its_state(passes: int) -> None:
    one, stream = learned(probe_passes=4, survey_passes=3), Stream(2)
    for _ in range(passes):
        stream.through(one, 0.1)
    buffer = io.BytesIO()
    torch.save(one.state_dict(), buffer)
    buffer.seek(0)
    other, twin = learned(probe_passes=4, survey_passes=3), copy.deepcopy(stream)
    other.load_state_dict(torch.load(buffer))
    for _ in range(9):
        assert torch.equal(stream.through(one, 0.1)[1], twin.through(other, 0.1)[1])
    assert one.price.value == other.price.value


def test_what_is_not_finite_is_kept_and_not_learned_from() -> None:
    mask = learned(probe_passes=1)
    for value in (torch.nan, torch.inf):
        for _ in range(2):
            v = torch.zeros(LAYOUT.elements)
            v[5] = value
            mask.look(LAYOUT, v)
            assert mask.keep(v, LAYOUT, 0.1)[5]
            mask.heard(LAYOUT, _framed(v.bfloat16()), v)
            sample = mask.sample()
            assert sample is not None
            mask.probed(sample.float())
            mask.end_pass(0.1)
    assert mask.price.value is None, "there was nothing to learn from"
    stream = Stream(0)
    for scale in (1e-12, 1e15, 1.0):
        stream.scale *= scale
        for _ in range(2):
            stream.through(mask, 0.1)
    assert mask._training.state_dict()["weights"].isfinite().all()


def seen_by_the_network(features: str) -> list[np.ndarray]:
    """What is shown to a network that decides the same whatever it sees, in three passes."""
    seen: list[np.ndarray] = []

    def network(_: MaskLayers, shown: np.ndarray) -> np.ndarray:
        seen.append(shown)
        return np.tile(np.arange(BINS) < 8, (len(shown), 1))

    options = LearnedOptions.of({"features": features, "survey_passes": 1})
    mask, stream = LearnedMask(options, 3, network), Stream(1)
    torch.manual_seed(1)
    layers = [nn.Linear(4, 4) for _ in range(3)]
    mask.watch(layers)
    for _ in range(3):
        for layer in layers:
            layer(torch.rand(50, 4).pow(4))
        stream.through(mask, 0.1)
    mask.close()
    return seen


@pytest.mark.parametrize(("features", "places"), [("none", 0), ("seed", 6), ("all", 8)])
def test_the_network_sees_what_it_may_and_always_the_bound(features: str, places: int) -> None:
    whole = np.stack(seen_by_the_network("all"))
    assert whole.any(axis=(0, 1)).all() and whole[..., -1].all()
    shown = np.stack(seen_by_the_network(features))
    assert np.array_equal(shown[..., :places], whole[..., :places])
    assert not shown[..., places:-1].any()
    assert np.array_equal(shown[..., -1], whole[..., -1])


def test_the_first_price_is_that_of_the_smallest_element_that_is_kept() -> None:
    """What a square costs as part of the mean energy: the losses' weights say it."""
    mask, stream = learned(reconstruction=0.5, sparsity=2, communication=1), Stream(1)
    v, kept = stream.through(mask, 0.1)
    assert mask.price.value is not None
    bound = mask.price.value * (2 + 1) / 0.5 * float(v.square().mean())
    assert bound == pytest.approx(float(v[kept].abs().min()) ** 2, rel=0.05)


def test_a_price_follows_what_is_sent() -> None:
    price = Price(0.5)
    price.chosen(10, 5, 99, 0)
    assert price.value is None
    price.value = 2.0
    told = (
        *((10, 5, 0, 0.5), (5, 10, 0, -0.25), (99, 1, 0, 1.5), (0, 1, 0, -0.5), (3, 0, 0, 0)),
        *((20, 5, 10, 0.125), (12, 10, 1, 0.1), (9, 10, 1, 0)),
    )
    for chosen, wanted, left_out, factor in told:
        before = price.value
        price.chosen(chosen, wanted, 99, left_out)
        assert price.value == pytest.approx(before * np.exp(factor))


def test_a_price_stays_where_there_is_nothing_more_to_send(seed: int) -> None:
    price = Price(0.5)
    price.value = 2.0
    price.chosen(3, 5, 3, 0)
    assert price.value == 2.0
    price.chosen(3, 5, 4, 0)
    assert price.value < 2


def test_passes_that_do_not_fit_leave_the_others_enough(seed: int) -> None:
    """Not all of them are such, and most of what is wanted is sent: threshold sends 95 % of it."""
    mask, stream, fits = learned(), Stream(seed), LAYOUT.elements // 16
    counts = [int(stream.through(mask, 0.05, fits)[1].sum()) for _ in range(200)][40:]
    sent = sum(min(count, fits) for count in counts) / len(counts) / LAYOUT.elements
    cut = sum(count > fits for count in counts) / len(counts)
    assert 0.85 * 0.05 < sent < 1.1 * 0.05 and cut < 0.7


@pytest.mark.parametrize(
    ("before", "after", "factor"),
    [(None, 3, 1), (3, 3, 1), (20, 20, 1), (48, 24, 2), (0.1875, 0.375, 2), (0.0, 0.375, np.inf)],
)
def test_a_price_is_brought_as_near_as_the_network_has_learned_for(
    before: float | None, after: float, factor: float
) -> None:
    """One that has become 0 too."""
    price = Price(0.5)
    price.value = before
    assert (price.bring_near(3.0), price.value) == (factor, after)


def _few(stream: Stream) -> None:
    stream.scale = torch.where(torch.arange(LAYOUT.elements) < 200, stream.scale, 0.0)


def _a_thousandth(stream: Stream) -> None:
    stream.scale = stream.scale / 1000


def _none(stream: Stream) -> None:
    stream.scale = torch.zeros(LAYOUT.elements)


@pytest.mark.parametrize("begin", [_few, _a_thousandth, _none])
@pytest.mark.parametrize("passes", [1, 200])
def test_the_density_is_held_after_other_passes(
    begin: Callable[[Stream], None], passes: int, seed: int
) -> None:
    """However few there were to send, or small ones: not many passes send most of all."""
    mask, stream = learned(), Stream(seed)
    scale = stream.scale
    begin(stream)
    for _ in range(passes):
        stream.through(mask, 0.05)
    stream.scale = scale
    kept = [int(stream.through(mask, 0.05)[1].sum()) / LAYOUT.elements for _ in range(100)]
    assert sum(own > 0.5 for own in kept) < 3 and sum(kept[1:20]) / 19 < 0.25
    assert sum(kept[20:]) / 80 == pytest.approx(0.05, rel=0.35)


@pytest.mark.parametrize(
    ("wanted", "best"), [(1, 8.0), (4, 8.0), (5, 3.0), (7, 3.0), (8, 0.5), (99, 0.5)]
)
def test_the_best_price_is_that_of_the_last_bin_that_is_wanted(wanted: int, best: float) -> None:
    counts, slopes = np.array([[3, 2, 0], [4, 0, 0]]), Slopes(*np.ones((2, 2, 3)))
    slopes.gain[:] = [[6, 1, 0], [8, 0, 0]]
    slopes.cost[:] = [[2, 2, 0], [1, 0, 0]]
    assert best_price(slopes, counts, wanted) == best
    assert best_price(slopes, 0 * counts, wanted) == 0


@pytest.mark.parametrize("regions", [1, 5])
def test_a_near_price_is_one_that_would_not_be_moved(regions: int, seed: int) -> None:
    """Bins that gain or cost nothing, or have no elements, among them, and prices at the edges."""
    draw, found = np.random.default_rng(seed), set()
    for _ in range(2000):
        gain, cost = np.ldexp(1.0, draw.integers(-8, 9, (2, regions, 64)))
        gain[draw.random(gain.shape) < 0.2] = 0
        cost[draw.random(cost.shape) < 0.02] = 0
        counts = np.floor(draw.choice([0, 4, 400]) * draw.random(gain.shape) ** 3)
        wanted = draw.choice([0.5, counts.sum() * draw.random() + 1, 1e9])
        price = Price(0.5)
        price.value = before = draw.choice([0.0, 2.0 ** draw.integers(-12, 13)])
        with np.errstate(divide="ignore", invalid="ignore"):
            best = best_price(Slopes(gain, cost), counts, wanted)
        is_near = is_within_reach(before, gain, cost, counts, wanted)
        has_one = before and 0 < best < np.inf
        moved = 0 < best < np.inf and price.bring_near(best) != 1
        assert not (is_near and moved) and (is_near or moved or not has_one)
        found.add((is_near, moved))
    assert len(found) == 3


@pytest.mark.parametrize("mantissa_bits", [7, 2, 0])
def test_code_bits_are_those_of_the_frame(mantissa_bits: int, seed: int) -> None:
    """Bits of all elements, by the bins that they are in, make about the frame's length."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(20_000, generator=draw)
    x = torch.where(torch.rand(20_000, generator=draw) < 0.05, x, 0.0).bfloat16()
    x = with_mantissa_bits(x, mantissa_bits)
    frame = encode([x, 4 * x], mantissa_bits=mantissa_bits)
    found = code_bits(frame, 40_000)
    total = 0.0
    for own, (base, bits) in zip((x, 4 * x), found, strict=True):
        assert 2.0 ** (base - 127) <= own.abs().max() < 2.0 ** (base - 126)
        for value in own[own != 0].double().abs().tolist():
            binade = int(np.floor(np.log2(value)))
            total += bits[min(2 * (base - 127 - binade) + (value < 1.5 * 2.0**binade), 31)]
    assert total / 8 == pytest.approx(len(frame), rel=0.1)


def test_bits_are_moved_to_the_base_of_the_mask() -> None:
    own = CodeBits(130, np.arange(32.0))
    found = bits_at(together([own, own, None]), np.array([129, 133, 5]))
    assert found[0, :4].tolist() == [2, 3, 4, 5] and found[0, -1] == 31
    assert found[1, :8].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]
    assert (found[2] == 16).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reconstruction": -1}, "reconstruction must be 0, or a number from .* to .*, not -1"),
        ({"sparsity": "much"}, "sparsity must be 0, or a number from .* to .*, not 'much'"),
        ({"sparsity": 1e-320}, "sparsity must be 0, or a number from .*, not 1e-320"),
        ({"communication": 1e308}, r"communication must be 0, or .*, not 1e\+308"),
        (
            {"reconstruction": 0},
            "reconstruction, and .*, must be above 0, not 0, 1 and 1",
        ),
        ({"sparsity": 0, "communication": 0}, "must be above 0, not 1, 0 and 0"),
        ({"hidden": 0}, "hidden must be a whole number, at least 1, not 0"),
        ({"features": "some"}, "features must be one of seed, all, none, not 'some'"),
        ({"rate": 0}, "rate must be a number above 0, at most 10, not 0"),
        ({"price_rate": float("inf")}, "price_rate must be a number above 0, at most 10, not inf"),
        ({"price_rate": 11}, "price_rate must be a number above 0, at most 10, not 11"),
        ({"step_passes": 17}, "step_passes must be a whole number from 1 to 16, not 17"),
        ({"survey_passes": 0}, "survey_passes must be a whole number, at least 1, not 0"),
        ({"probe_passes": 1.5}, r"probe_passes must be a whole number, at least 0, not 1\.5"),
        ({"probe_every": 0}, "probe_every must be a whole number, at least 1, not 0"),
        ({1: 2}, "the learned mask has no option 1; it has reconstruction, "),
        ({"hiden": 3}, "the learned mask has no option 'hiden'; did you mean 'hidden'?"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        CompressionOptions(mask="learned", learned=options)
    assert "\n" not in str(caught.value)


def test_options_of_the_mask_need_the_mask() -> None:
    with pytest.raises(ValueError, match="learned must be empty unless mask is 'learned', not "):
        CompressionOptions(learned={"hidden": 3})
    with pytest.raises(TypeError, match="learned must be a mapping of options, not 3"):
        CompressionOptions(mask="learned", learned=3)


def test_a_state_of_another_network_is_refused() -> None:
    with pytest.raises(ValueError, match="hidden of the learned mask must be 31 as now, not 5"):
        learned().load_state_dict(learned(hidden=5).state_dict())
