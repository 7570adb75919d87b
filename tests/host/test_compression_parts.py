"""The parts of the compressed exchange, each against plain arithmetic of its own."""

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from layouts import layout_of

from adagrain.host.compression import stopwatch
from adagrain.host.compression.bypass import Bypass, Times
from adagrain.host.compression.feedback import Feedback
from adagrain.host.compression.frames import _decoded, _joined, coded
from adagrain.host.compression.layout import Layout
from adagrain.host.compression.memory import Memory
from adagrain.host.compression.options import CompressionOptions
from adagrain.host.compression.plan import Plan, least_size, most_size
from adagrain.host.compression.tally import Tally
from adagrain.host.compression.target import Target
from adagrain.host.compression.under_way import Framed
from adagrain.host.distributed.sent import Sent
from adagrain.models import codec
from adagrain.models.codec import decode

CPU = torch.device("cpu")


def test_memory_follows_parameters_into_other_buckets() -> None:
    memory = Memory()
    memory.of(layout_of(2, 3), CPU).copy_(torch.arange(5.0))
    memory.of(layout_of(4, first=2), CPU).copy_(10 + torch.arange(4.0))
    other = Layout(((2, 0), (1, 0)), (4, 3))
    assert memory.of(other, CPU).tolist() == [10, 11, 12, 13, 2, 3, 4]
    memory.of(other, CPU).add_(1)
    assert memory.of(layout_of(2, 3), CPU).tolist() == [0, 1, 3, 4, 5]
    again = Memory()
    again.load_state_dict(memory.state_dict())
    assert again.of(layout_of(2, 3, 4), CPU).tolist() == [0, 1, 3, 4, 5, 11, 12, 13, 14]


def test_memory_is_one_number_for_each_element_whatever_is_asked_for() -> None:
    """Regions of longer and longer cadences are asked for ever more rarely."""
    memory = Memory()
    for count in (16, 8, 4, 2, 1):
        memory.of(layout_of(*[100] * count), CPU).fill_(count)
    kept = {own.untyped_storage().data_ptr(): own for own in memory._parts.values()}
    assert sum(own.untyped_storage().nbytes() for own in kept.values()) == 4 * 1600
    assert memory.of(layout_of(*[100] * 16), CPU)[::100].tolist() == (
        [1, 2, *[4] * 2, *[8] * 4, *[16] * 8]
    )


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_correction_is_that_of_the_paper(nesterov: bool, masks: bool) -> None:
    """With momentum factor masking; without, velocities go on whatever is sent."""
    feedback = Feedback(momentum=0.75, nesterov=nesterov, masks_momentum=masks)
    layout = layout_of(6)
    generator = np.random.default_rng(0)
    velocity, residual = np.zeros((2, 6), dtype=np.float32)
    for _ in range(5):
        gradient = generator.integers(-8, 8, 6).astype(np.float32)
        velocity = np.float32(0.75) * velocity + gradient
        residual += np.float32(0.75) * velocity + gradient if nesterov else velocity
        values = feedback.values(layout, torch.from_numpy(gradient))
        assert values.v.tolist() == residual.tolist()
        chosen = np.abs(residual) > 5
        sent = torch.from_numpy(np.where(chosen, residual, 0).astype(np.float32)).bfloat16()
        feedback.keep(layout, values, sent, everything=False)
        residual -= sent.float().numpy()
        if masks:
            velocity[chosen & (sent.float().numpy() != 0)] = 0


@pytest.mark.parametrize("nesterov", [False, True])
def test_uncompressed_it_is_the_optimizers_own_momentum(nesterov: bool) -> None:
    feedback, layout = Feedback(momentum=0.5, nesterov=nesterov), layout_of(6)
    weights = torch.zeros(6, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=1, momentum=0.5, nesterov=nesterov)
    generator = torch.Generator().manual_seed(4)
    for _ in range(4):
        before = weights.detach().clone()
        weights.grad = torch.randint(-8, 8, (6,), generator=generator).float()
        optimizer.step()
        values = feedback.values(layout, weights.grad)
        assert torch.equal(values.v, before - weights)
        feedback.keep(layout, values, values.v.bfloat16(), everything=True)


@pytest.mark.parametrize("nesterov", [False, True])
def test_without_masking_all_that_the_optimizer_would_do_is_sent_or_waits(nesterov: bool) -> None:
    feedback = Feedback(momentum=0.5, nesterov=nesterov, masks_momentum=False)
    layout, moved = layout_of(6), torch.zeros(6)
    weights = torch.zeros(6, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=1, momentum=0.5, nesterov=nesterov)
    generator = torch.Generator().manual_seed(4)
    for _ in range(8):
        weights.grad = torch.randint(-8, 8, (6,), generator=generator).float()
        optimizer.step()
        values = feedback.values(layout, weights.grad)
        sent = torch.where(values.v.abs() > 6, values.v, 0.0).bfloat16()
        feedback.keep(layout, values, sent, everything=False)
        moved += sent
    waits = feedback.state_dict()["residuals"][0, 0]
    assert waits.any() and moved.any()
    assert torch.equal(moved + waits, -weights)


@pytest.mark.parametrize("masks", [False, True])
def test_what_is_lost_is_given_back_as_if_it_had_not_been_sent(masks: bool) -> None:
    """To the bit, of the void region alone; what is not finite stays as it was."""
    feedback, layout = Feedback(momentum=0.5, masks_momentum=masks), layout_of(3, 3, 3)
    v = torch.randn(9, generator=torch.Generator().manual_seed(2))
    for step in range(2):
        if step:
            v[7] = torch.inf
        before = feedback.state_dict()
        values = feedback.values(layout, v)
        sent = torch.where(v.abs() > 0.3, values.v, 0.0).bfloat16()
        feedback.keep(layout, values, sent, everything=False)
        assert feedback.lost(layout, values, sent, void={3}, everything=False) == []
        lost = feedback.lost(layout, values, sent, void={1, 2}, everything=False)
        feedback.give_back(lost)
        for name, whole in (("residuals", values.v), ("velocities", values.velocity)):
            kept = [*feedback.state_dict()[name].values()]
            changes = masks or name == "residuals"
            assert whole is not None and torch.equal(kept[0], whole[:3]) is not changes
            assert torch.equal(kept[1], whole[3:6])
            wanted = whole[6:] if not step else before[name][2, 0]
            assert torch.equal(kept[2], wanted)


def test_without_feedback_nothing_is_kept() -> None:
    feedback, layout = Feedback(enabled=False), layout_of(3)
    values = feedback.values(layout, torch.ones(3))
    feedback.keep(layout, values, torch.zeros(3), everything=False)
    assert feedback.values(layout, torch.ones(3)).v.tolist() == [1, 1, 1]
    assert not feedback.state_dict()["residuals"]


@pytest.mark.parametrize("sizes", [(1,), (3, 1, 2), (9000, 17), (4096, 4097), (5,) * 40])
def test_frames_fit_into_the_least_slot(sizes: tuple[int, ...], seed: int) -> None:
    layout = layout_of(*sizes)
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(-(1 << 15), 1 << 15, (layout.elements,), generator=generator)
    sent = words.to(torch.int16).view(torch.bfloat16)
    sent = torch.where(sent.isfinite(), sent, 1.0)
    assert coded(codec, sent, layout, 7, most_size(layout)).left_out == 0
    for part in layout.parts(sent):
        part[len(part) // 2] = torch.nan
    assert coded(codec, sent, layout, 7, most_size(layout)).left_out == 0
    made = coded(codec, sent, layout, 2, least_size(layout))
    assert len(made.frame) <= least_size(layout)
    found = decode(made.frame)
    for part, own, all_of_it in zip(
        found, layout.parts(made.sent), layout.parts(sent), strict=True
    ):
        assert torch.equal(part.view(torch.int16), own.view(torch.int16))
        assert part.isnan().any()
        kept = own != 0
        assert torch.equal(own[kept].view(torch.int16), all_of_it[kept].view(torch.int16))


def test_of_a_frame_that_is_too_long_the_largest_elements_are_sent() -> None:
    layout = layout_of(5000)
    sent = torch.randn(5000, generator=torch.Generator().manual_seed(4)).bfloat16()
    for size in (9000, 3000, 400, least_size(layout)):
        made = coded(codec, sent, layout, 7, size)
        kept = made.sent != 0
        assert len(made.frame) <= size
        assert (made.left_out > 0) == (made.wanted > size)
        assert kept.all() or sent[kept].abs().min() >= sent[~kept].abs().max()
        assert made.left_out == 5000 - int(kept.sum())
        if size > 1000:
            assert len(made.frame) > 0.5 * min(size, made.wanted)


def test_of_a_frame_that_is_too_long_elements_are_sent_whose_sum_is_not_finite() -> None:
    """But which are finite themselves."""
    sent, layout = torch.full((200,), 2e38).bfloat16(), layout_of(200)
    made = coded(codec, sent, layout, 7, least_size(layout))
    assert 0 < made.left_out < 200
    assert len(made.frame) <= least_size(layout)


@pytest.mark.parametrize(
    ("frame", "number", "error", "told"),
    [
        (bytes(5000), 1.0, ValueError, "frame of 0 elements .* from 1 to 100 bytes, not 5000"),
        (
            bytes(5000),
            torch.nan,
            ValueError,
            "frame of 1 elements .* to 100 bytes, not 5000",
        ),
        (b"", 1.0, ValueError, "frame of 200 elements that are not zero must have .*, not 0"),
        ("abc", 1.0, TypeError, "coder must give frames of bytes, not of type str"),
    ],
    ids=["too long", "too long, not finite", "empty", "no bytes"],
)
def test_a_coder_s_frame_that_cannot_be_sent(
    frame: Any, number: float, error: type[Exception], told: str
) -> None:
    """Of fewer elements, and fewer, down to none."""
    coder, sent = Mock(), torch.full((200,), number).bfloat16()
    coder.encode.side_effect = [frame] * 3
    with pytest.raises(error, match=told):
        coded(coder, sent, layout_of(200), 7, 100)


def test_decoded_parts_are_one_tensor_wherever_they_lie() -> None:
    whole = torch.randn(60, generator=torch.Generator().manual_seed(4)).bfloat16()
    for parts in ([*whole.split([10, 0, 50])], [whole[:10].clone(), whole[10:]], [whole]):
        assert torch.equal(_joined(parts), whole)
    assert torch.equal(_joined([whole[10:], whole[:10]]), torch.cat([whole[10:], whole[:10]]))
    assert _joined([*whole.split(20)]).data_ptr() == whole.data_ptr()


def test_a_frame_of_other_elements_than_bf16_is_refused() -> None:
    frame = codec.encode([torch.ones(60).half()])
    assert _decoded(codec, frame, layout_of(60)) is None
    assert _decoded(codec, codec.encode([torch.ones(60).bfloat16()]), layout_of(60)) is not None


def test_a_frame_s_bits_are_dealt_to_its_shares() -> None:
    layout = layout_of(4000, 500, 300)
    sent = torch.zeros(4800).bfloat16()
    sent[:4000:10], sent[4000:4500:5] = torch.randn(400).bfloat16(), torch.randn(100).bfloat16()
    made, unused = coded(codec, sent, layout, 7, 9000), cast("Any", None)
    framed = Framed(layout, [], 0, unused, made, unused, [made.sent])
    first, second, third = (own.bits for _, own in framed.sent())
    assert 8 * len(made.frame) - 3 <= first + second + third <= 8 * len(made.frame)
    assert third == 0 and 3 < first / second < 5
    found = Tally()
    for _ in range(2):
        found.add(framed.sent())
    assert found.take() == {
        0: Sent(8000, 800, 2 * first), 1: Sent(1000, 200, 2 * second), 2: Sent(600, 0, 0)
    }  # fmt: skip
    assert found.take() == {}
    framed.leave_out([True])
    assert framed.sent() == [(0, Sent(4000, 0, 0)), (1, Sent(500, 0, 0)), (2, Sent(300, 0, 0))]


def test_slots_follow_the_longest_frames() -> None:
    options = CompressionOptions(density=0.01)
    plan, layout = Plan(8, Target(options, 10**6)), layout_of(10**6)
    assert plan.size(0, layout) == 60_000
    sizes = []
    for number in range(28):
        sizes.append(plan.size(number, layout))
        plan.wanted(layout, {5: 30_000, 12: 90_000, 13: 10_000}.get(number, 20_000))
        plan.end_pass(number)
    assert sizes[1:8] == [25_000] * 5 + [37_500] * 2
    assert sizes[8:13] == [37_500] * 5
    assert sizes[13:24] == [112_500] * 11 and sizes[24:] == [25_000] * 4
    other = Plan(8, Target(options, 10**6))
    other.load_state_dict(plan.state_dict())
    assert other.size(28, layout) == 25_000 and other.state_dict() == plan.state_dict()


@pytest.mark.parametrize("budget", [200, 3000, 4096, 7000])
def test_no_first_slot_exceeds_a_budget(budget: int) -> None:
    plan = Plan(4, Target(CompressionOptions(budget=budget), 10**5))
    assert plan.size(0, layout_of(10**5)) == budget


def test_no_slot_exceeds_a_budget() -> None:
    plan, layout = Plan(4, Target(CompressionOptions(budget=5000), 10**5)), layout_of(10**5)
    for number in range(9):
        assert plan.size(number, layout) == (5000 if number < 8 else 1250)
        plan.wanted(layout, 9000 if number < 4 else 1000)
        plan.end_pass(number)


def test_no_slot_of_a_state_exceeds_a_budget() -> None:
    wide, layout = Plan(4, Target(CompressionOptions(density=1.0), 10**5)), layout_of(10**5)
    assert wide.size(0, layout) > 100_000
    for budget, size in ((5000, 5000), (50, 75), (10**6, wide.size(0, layout))):
        plan = Plan(4, Target(CompressionOptions(budget=budget), 10**5))
        plan.load_state_dict(wide.state_dict())
        assert plan.size(0, layout) == size


def test_warm_up_and_budget() -> None:
    target = Target(CompressionOptions(density=0.01, warmup_passes=2, warmup_density=0.16), 100)
    assert [target.density(n) for n in range(4)] == pytest.approx([0.16, 0.04, 0.01, 0.01])
    target = Target(CompressionOptions(budget=1000), 10_000)
    assert target.first_size(0, 10_000) == 1000
    target.sent(500, 200)
    assert target.density(9) == pytest.approx(800 / 2.5 / 10_000)
    target.sent(100, 0)
    assert target.density(9) == pytest.approx(800 / 2.5 / 10_000)
    other = Target(CompressionOptions(budget=1000), 10_000)
    other.load_state_dict(target.state_dict())
    assert other.density(9) == target.density(9)
    assert Target(CompressionOptions(budget=10**6), 100).density(0) == 1


def test_the_bypass_changes_where_it_is_worth_it() -> None:
    bypass = Bypass("auto", 1.0)
    assert [n + 1 for n in range(5000) if bypass.decides(n)] == [
        *(2, 16, 128),
        *(1024, 2048, 3072, 4096),
    ]
    taken = []
    for number, times in (
        (1, Times(50, 50, 95, 0)),
        (15, Times(50, 50, 80, 0)),
        (127, Times(50, 40, 95, 0)),
        (1023, Times(50, 30, 95, 0)),
    ):
        bypass.decide(number, times)
        taken.append(bypass.active(number + 1))
    assert taken == [False, True, True, False]
    bypass.decide(2047, Times(9, 9, 1, 0))
    assert [n for n in range(2048, 3072) if not bypass.active(n)] == [3070, 3071]
    again = Bypass(bypass.record, 1.0)
    assert again.record == {} and not again.decides(1)
    assert [again.active(n) for n in (0, 9, 16, 125, 126, 127, 128, 1024, 2050)] == [
        *(False, False, True, True, False, False, True, False, True)
    ]
    other = Bypass("auto", 1.0)
    other.load_state_dict(bypass.state_dict())
    assert other.decisions == bypass.decisions and other.active(130)


def test_a_mode_that_does_not_decide_stays_in_force_with_a_state_that_did() -> None:
    auto = Bypass("auto", 1.0)
    auto.decide(1, Times(50, 50, 9, 0))
    assert auto.active(2)
    for mode, active in (("never", False), ({9: True}, False), ("always", True)):
        other = Bypass(mode, 1.0)
        other.load_state_dict(auto.state_dict())
        assert other.active(2) is active and other.decisions == auto.decisions
    always = Bypass("always", 1.0)
    always.load_state_dict(Bypass("auto", 1.0).state_dict())
    assert always.active(2)


def test_time_elsewhere_is_the_least_since_the_last_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(stopwatch, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    watch, found = stopwatch.Stopwatch(), []
    for seconds in (9, 3, 2, 5, None, 4, 7):
        if seconds is None:
            watch.decides()
            continue
        now[0] += seconds
        watch.waits()
        found.append(watch.elsewhere)
        now[0] += 100
        watch.ends()
    assert found == [0, 3, 2, 2, 4, 4]


def test_behind_a_refused_frame_a_pass_goes_uncompressed() -> None:
    bypass, other = (Bypass({9: True}, 1.0) for _ in range(2))
    assert bypass.begins(0) == (False, False)
    bypass.refused()
    other.load_state_dict(bypass.state_dict())
    for own in (bypass, other):
        assert own.begins(1) == (True, True)
        assert own.begins(2) == (False, False)
        own.refused()
        assert own.begins(10) == (True, False)
        assert not own.begins(2)[0]


@pytest.mark.parametrize(
    ("elsewhere", "worth", "bypassed"),
    [(0, 1.5, False), (207, 1.5, False), (208, 1.5, True), (208, 1.0, False), (0, 3.4, True)],
)
def test_compression_must_be_worth_it(elsewhere: int, worth: float, bypassed: bool) -> None:
    """A step's whole time counts: where most of it is computing, there is little to gain."""
    bypass = Bypass("auto", worth)
    bypass.decide(7, Times(20, 30, 140, elsewhere))
    assert bypass.active(8) is bypassed
