"""What the learned mask keeps of shares from pass to pass, whatever exchanges they come in."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from adagrain.host.compression.layout import Key, Layout
from adagrain.host.compression.learned.activations import Activations
from adagrain.host.compression.learned.decisions import Decided, Decisions
from adagrain.host.compression.learned.last import Last
from adagrain.host.compression.learned.mask import LearnedMask
from adagrain.host.compression.learned.met import Met, together
from adagrain.host.compression.learned.options import LearnedOptions
from adagrain.host.compression.learned.survey import Survey
from adagrain.models.mask_network import gradient_feature
from adagrain.models.statistics import statistics

KEYS = ((0, 0), (1, 0), (1, 500), (3, 0))


def decided(draw: np.random.Generator, shares: int) -> Decided:
    return Decided(
        draw.integers(-99, 99, (shares, 9)),
        draw.integers(0, 255, shares),
        draw.random((shares, 64)) < 0.5,
        int(draw.integers(0, 99)),
    )


def row(found: Decided | None, place: int) -> list[object]:
    assert found is not None
    return [own[place].tolist() for own in found[:-1]]


def test_decisions_stay_until_there_are_others(seed: int) -> None:
    draw, decisions = np.random.default_rng(seed), Decisions()
    wanted: dict[Key, list[object]] = {}
    assert decisions.of(KEYS) is None
    for keys in (KEYS[:2], KEYS[:2], KEYS[1:], KEYS[3:], KEYS):
        made = decided(draw, len(keys))
        decisions.put(keys, made)
        wanted |= {key: row(made, place) for place, key in enumerate(keys)}
        for asked in (keys, KEYS[1:2], tuple(reversed(keys))):
            assert [row(decisions.of(asked), n) for n in range(len(asked))] == [
                wanted[key] for key in asked
            ]
    other = Decisions()
    other.load_state_dict(decisions.state_dict())
    assert [row(other.of(KEYS), n) for n in range(4)] == [wanted[key] for key in KEYS]
    assert other.of(((9, 0),)) is None
    state = decisions.state_dict()
    state["rows"] = {key: own[:-1] for key, own in state["rows"].items()}
    other.load_state_dict(state)
    assert [row(other.of(KEYS), n) for n in range(4)] == [wanted[key] for key in KEYS]
    assert other.of(KEYS).passes == 0, "a state of before rows had them"
    decisions.clear()
    assert decisions.of(KEYS[:1]) is None


def test_the_oldest_of_some_decisions_tells_their_age() -> None:
    draw, decisions = np.random.default_rng(0), Decisions()
    for keys, passes in ((KEYS, 3), (KEYS[:2], 5)):
        decisions.put(keys, decided(draw, len(keys))._replace(passes=passes))
    other = Decisions()
    other.load_state_dict(decisions.state_dict())
    for keys, passes in ((KEYS[1:], 3), (KEYS[1:2], 5), (KEYS[2:], 3), (KEYS[:2], 5)):
        assert decisions.of(keys).passes == other.of(keys).passes == passes


@pytest.mark.parametrize(("every", "step_passes"), [(2, 2), (2, 3), (3, 2), (4, 3)])
@pytest.mark.parametrize("phase", [0, 1])
def test_shares_that_are_not_in_all_passes_are_decided_on_in_time(
    every: int, step_passes: int, phase: int, seed: int
) -> None:
    mask = LearnedMask(LearnedOptions(step_passes=step_passes), seed=3)
    generator = torch.Generator().manual_seed(seed)
    for number in range(1, 60):
        keys = KEYS if number % every == phase else KEYS[:2]
        layout = Layout(keys, (400,) * len(keys))
        mask.keep(torch.randn(layout.elements, generator=generator).pow(3), layout, 0.1)
        mask.end_pass(0.1)
        if len(keys) == 4:
            made = mask._decisions.of(KEYS[2:]).passes
            assert number < 16 or number - made < step_passes
    assert made > 50


def test_steps_learn_from_what_was_decided_and_prices_from_what_was_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where bases jump, both differ."""
    mask, generator = LearnedMask(LearnedOptions(), seed=3), torch.Generator().manual_seed(0)
    layout, lessons, asked = Layout(KEYS, (400,) * 4), [], []
    learn, is_near = mask._training.learn_and_decide, mask.price.is_near
    monkeypatch.setattr(
        mask._training, "learn_and_decide", lambda *own: lessons.append(own[0]) or learn(*own)
    )
    monkeypatch.setattr(mask.price, "is_near", lambda *own: asked.append(own[0]) or is_near(*own))
    for number in range(6):
        before = mask._decisions.of(KEYS)
        scale = 4.0**number
        mask.keep(scale * torch.randn(1600, generator=generator), layout, 0.1)
        met = mask._met[0]
        mask.end_pass(0.1)
        if number:
            assert lessons[-1].known is before.known and lessons[-1].met[1] is before.bases
            assert (met.bases > before.bases).all()
            assert asked[-1][0] is met.sums and asked[-1][1] is met.bases
    assert len(lessons) == 6 and len(asked) == 5


def test_a_pass_that_masked_nothing_is_not_credited_with_the_probe_before() -> None:
    mask, layout = LearnedMask(LearnedOptions(probe_passes=1), seed=3), Layout(KEYS[:1], (400,))
    mask.keep(torch.randn(400).pow(3), layout, 0.1)
    mask._worth.applied(0, layout, torch.ones(400))
    mask.end_pass(0.1)
    assert mask._worth._applied
    mask.end_pass(0.1)
    assert not mask._worth._applied and mask._decisions.of(KEYS[:1]) is None


def test_what_was_met_is_in_one_order(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sums, bases = draw.integers(0, 99, (4, 512, 2)), draw.integers(0, 255, 4)
    whole = Met(KEYS, (4, 3, 2, 1), sums, bases, 10, 20)
    assert together([whole]) is whole
    parts = [Met(tuple(KEYS[n] for n in p), tuple(4 - n for n in p), sums[p], bases[p], 5, 10)
             for p in ([2, 0], [3, 1])]  # fmt: skip
    found = together(parts)
    assert found[:2] == whole[:2] and found[4:] == (10, 20)
    assert (found.sums == sums).all() and (found.bases == bases).all()


def test_what_was_made_last_holds_until_it_is_forgotten() -> None:
    asked: list[object] = []
    last = Last[int](lambda keys: asked.append(keys) or len(asked))
    assert [last.of(keys) for keys in (KEYS, KEYS, KEYS[:2], KEYS)] == [1, 1, 2, 3]
    last.forget()
    assert last.of(KEYS) == 4


def passes(exchanges: list[Layout], seed: int) -> list[torch.Tensor]:
    """What a mask keeps of four shares in some passes, in the order of their keys."""
    mask, generator = LearnedMask(LearnedOptions(), seed=3), torch.Generator().manual_seed(seed)
    scales, found = (1.0, 0.1, 10.0, 1e-3), []
    for _ in range(12):
        drawn = {
            key: scale * torch.randn(400, generator=generator).pow(3)
            for key, scale in zip(KEYS, scales, strict=True)
        }
        kept: dict[Key, torch.Tensor] = {}
        for layout in exchanges:
            v = torch.cat([drawn[key] for key in layout.keys])
            mask.look(layout, v)
            kept |= zip(layout.keys, layout.parts(mask.keep(v, layout, 0.1)), strict=True)
        mask.end_pass(0.1)
        found.append(torch.cat([kept[key] for key in KEYS]))
    return found[1:]  # the first pass has a threshold for each exchange


def test_order_of_exchanges_does_not_matter(seed: int) -> None:
    one, other = (
        passes([Layout(tuple(KEYS[n] for n in part), (400,) * len(part)) for part in parts], seed)
        for parts in ([[3, 1], [0, 2]], [[3, 1], [2, 0]])
    )
    assert all(map(torch.equal, one, other))


@pytest.mark.parametrize("passes", [1, 4])
def test_looks_get_rarer(passes: int) -> None:
    module = nn.Linear(3, 3)
    survey = Survey(passes)
    survey.watch([module])
    taken = [0] if module._forward_hooks else []
    for number in range(1, 60 * passes):
        survey.begin_pass(number)
        taken += [number] if module._forward_hooks else []
    edges = [*range(0, 4, 1), *range(4, 8, 2), *range(8, 16, 4), *range(16, 60, 8)]
    assert taken == [passes * edge for edge in edges]


def test_hooks_are_there_only_while_samples_are_wanted() -> None:
    module = nn.Linear(3, 3)
    watched = Activations([module, module])
    for wanted in (True, False, False, True, True):
        watched.wanted = wanted
        assert watched.wanted == wanted and len(module._forward_hooks) == wanted


def test_copies_of_a_module_have_hooks_that_do_nothing() -> None:
    module = nn.Linear(3, 3)
    watched = Activations([module])
    for copied in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        copied(torch.ones(2, 3))
        (hook,) = copied._forward_hooks.values()
        assert hook._activations is None
    assert watched.features() == {}
    module(torch.ones(2, 3))
    assert set(watched.features()) == {0}


def test_nothing_is_taken_of_what_is_compiled() -> None:
    """Its hooks are those of the first pass, and stay: features would, too."""
    torch.compiler.reset()
    module = nn.Linear(3, 3)
    compiled, watched = torch.compile(module, backend="eager"), Activations([module])
    for wanted in (True, False, True):
        watched.wanted = wanted
        compiled(torch.randn(2, 3))
        assert watched.features() == {}
    module(torch.ones(2, 3))
    assert set(watched.features()) == {0}


def test_norms_of_large_gradients_are_those_of_elements_evenly_apart(seed: int) -> None:
    gradient = torch.randn(10_000, generator=torch.Generator().manual_seed(seed))
    layout, survey = Layout(((0, 0), (1, 0)), (9000, 1000)), Survey(8)
    survey.look(layout, gradient)
    large, small = survey.of(layout.keys).features[:, 4].tolist()
    assert large == gradient_feature(statistics(gradient[:9000:3], None), 9000)
    assert small == gradient_feature(statistics(gradient[9000:], None), 1000)
