"""Precisions that are decided, learned, bounded, kept and offloaded."""

import pytest
import torch
from granular_networks import network, step
from torch import nn

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import DeviceError
from adagrain.host.granular import Budget, Granularity, Policy, convert
from adagrain.models.arithmetic.float import Flag
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.precision import INTEGERS, Precision


def variances(*values: float) -> torch.Tensor:
    """An input whose variance over its squared largest magnitude is about a value each."""
    (value,) = values
    x = torch.zeros(400, 12)
    count = round(value * x.numel())
    x.view(-1)[:count] = 1.0
    x.view(-1)[:count:2] = -1.0
    return x


def test_the_normalised_variance_of_the_input_decides() -> None:
    policy = Policy(thresholds=(0.1, 0.3, 0.5), dwell=0, every=1, skip=("two",))
    model = convert(network(), policy)
    with Granularity(model) as granularity:
        for value, wanted in ((0.05, "INT4"), (0.2, "INT8"), (0.4, "FP16"), (0.8, "FP32")):
            assert step(model, granularity, variances(value)) == [Precision[wanted]]
        assert granularity.switches == 4


def test_scaling_the_input_changes_no_decision() -> None:
    decided = []
    for power in (0, 5, -20):
        model = convert(network(), Policy(dwell=0, every=1))
        with Granularity(model) as granularity, torch.no_grad():
            model.one.bias.zero_()
            logs = []
            for seed in range(6):
                torch.manual_seed(seed)
                model(torch.randn(16, 12) * 2.0**power)
                logs.append(
                    [
                        (found.precision, found.normalised_variance)
                        for found in granularity.step().channel_groups
                    ]
                )
            decided.append(logs)
    assert decided[0] == decided[1] == decided[2]


@pytest.mark.parametrize("power", [1, 7, -12])
def test_scaling_a_layer_and_back_changes_no_decision_and_no_threshold_gradient(
    power: int,
) -> None:
    """One layer's weights times 2^k, the next one's times 2^-k: as gaming the penalty would."""
    found = []
    for k in (0, power):
        policy = Policy(  # of integers: FP16 has an end
            thresholds=(0.06, 0.9, 0.95), dwell=0, every=1, ceiling="INT8"
        )
        model = convert(network(), policy)
        with torch.no_grad():
            model.one.weight.mul_(2.0**k)
            model.one.bias.mul_(2.0**k)
            model.two.weight.mul_(2.0**-k)
        with Granularity(model) as granularity:
            logs = []
            for seed in range(6):
                torch.manual_seed(seed)
                y = model(torch.randn(16, 12) ** (1 + 2 * (seed % 2)))
                y.square().mean().backward()
                learned = [p.grad.clone() for p in granularity.thresholds()]
                decided = [
                    (found.precision, found.normalised_variance)
                    for found in granularity.step().channel_groups
                ]
                logs.append((y, learned, decided))
        found.append(logs)
    for (y, learned, decided), (other, others, other_decided) in zip(*found, strict=True):
        assert decided == other_decided
        assert torch.equal(y, other)
        assert all(map(torch.equal, learned, others))
    assert len({precision for _, _, decided in found[0] for precision, _ in decided}) == 2


def test_noise_at_a_threshold_does_not_flap() -> None:
    def switches(**changes: object) -> int:
        policy = Policy(thresholds=(0.2, 0.5, 0.9), every=1, skip=("two",), learn=False, **changes)
        model = convert(network(), policy)
        with Granularity(model) as granularity:
            for number in range(40):
                step(model, granularity, variances(0.19 if number % 2 else 0.21))
            return granularity.switches

    assert switches(dwell=0, hysteresis=0.0) >= 39
    assert switches(dwell=0, hysteresis=0.02) <= 1
    assert switches(dwell=9, hysteresis=0.0) <= 5


def test_penalty_is_the_part_of_the_bits() -> None:
    model = convert(network(), Policy(penalty=0.5, start="INT8"), {"two": Policy(fixed="FP16")})
    with Granularity(model) as granularity:
        model(torch.randn(3, 12))
        macs = 12 * 8, 8 * 5
        wanted = 0.5 * 8 * macs[0] / (32 * sum(macs))  # layer two has no penalty of its own
        assert granularity.penalty().item() == pytest.approx(wanted)


def test_penalty_raises_thresholds_of_units_that_cost_most() -> None:
    model = convert(network(), Policy(penalty=1.0, thresholds=(0.05, 0.1, 0.2), every=1))
    with Granularity(model) as granularity:
        step(model, granularity, torch.randn(16, 12))
        one, two = model.one.controllers.thresholds.grad, model.two.controllers.thresholds.grad
        assert (one < 0).all()  # descending, they rise: fewer inputs ask for more bits
        assert one.abs().sum() > two.abs().sum()


def test_in_fp32_what_is_not_finite_follows_ieee_and_gives_no_gradient() -> None:
    model = convert(network(), Policy(every=1, start="FP32", floor="FP32"))
    with Granularity(model) as granularity:
        step(model, granularity, torch.randn(4, 12))
        x = torch.randn(4, 12)
        x[0, 0] = torch.nan
        y = model(x)
        assert y[0].isnan().all() and y[1:].isfinite().all()
        assert not any(log.name == "one" for log in granularity.step().channel_groups)


def test_threshold_gradients_reach_no_precision_outside_the_bounds() -> None:
    model = convert(network(), Policy(every=1, floor="INT8", ceiling="FP16", skip=("two",)))
    with Granularity(model) as granularity:
        step(model, granularity, torch.randn(8, 12))
        int4, int8, fp16, fp32 = model.one.controllers.weights()[0].tolist()
        assert int4 == fp32 == 0
        assert int8 > 0 and fp16 > 0
        assert int8 + fp16 == pytest.approx(1)


def test_threshold_gradients_do_not_change_the_output() -> None:
    model, x = convert(network(), Policy(every=1)), torch.randn(4, 12)
    plain = convert(network(), Policy(every=1, learn=False))
    with Granularity(model), Granularity(plain):
        assert torch.equal(model(x), plain(x))
        assert model.one.controllers.normalised_variance is not None


def test_a_task_that_needs_precision_lowers_the_thresholds() -> None:
    """Where INT4 makes the loss worse, thresholds fall until it is no longer chosen."""
    torch.manual_seed(1)
    x = torch.randn(64, 12)
    target = x @ torch.randn(12, 8)
    chosen = {}
    for penalty in (0.0, 300.0):
        policy = Policy(
            thresholds=(0.25, 0.6, 0.9),
            start="INT4",
            every=1,
            dwell=0,
            skip=("two",),
            penalty=penalty,
        )
        model = convert(network(), policy)
        with Granularity(model) as granularity:
            weights = torch.optim.SGD([model.one.weight, model.one.bias], lr=0.1)
            thresholds = torch.optim.SGD([model.one.controllers.thresholds], lr=1.0)
            for _ in range(80):
                weights.zero_grad()
                thresholds.zero_grad()
                loss = (model.one(x) - target).square().mean()
                (loss + granularity.penalty()).backward()
                weights.step()
                thresholds.step()
                granularity.step()
            chosen[penalty] = granularity.precisions()["one"]
    assert chosen[0.0] is not Precision.INT4
    assert chosen[300.0] is Precision.INT4


def test_state_goes_on_where_it_was() -> None:
    def run(model: nn.Module, granularity: Granularity, first: int, last: int) -> list[object]:
        thresholds = [p for n, p in model.named_parameters() if "thresholds" in n]
        logs: list[object] = []
        for number in range(first, last):
            torch.manual_seed(number)
            x = torch.randn(16, 12) * torch.rand(16, 12) ** (number % 5)
            model.zero_grad()
            (model(x).square().mean() + granularity.penalty()).backward()
            with torch.no_grad():
                for threshold in thresholds:
                    threshold -= 0.5 * threshold.grad
            logs.append(granularity.step())
        return logs

    policy = Policy(penalty=0.3, every=2, dwell=3, channel_groups=2)
    model = convert(network(), policy)
    with Granularity(model) as granularity:
        run(model, granularity, 0, 7)
        state = {k: v.clone() for k, v in model.state_dict().items()}, granularity.state_dict()
        wanted = run(model, granularity, 7, 20)
    again = convert(network(), policy)
    with Granularity(again) as granularity:
        again.load_state_dict(state[0])
        granularity.load_state_dict(state[1])
        assert run(again, granularity, 7, 20) == wanted
        totals = granularity.work, granularity.switches
    assert totals[0][Precision.INT8] > 0
    other = convert(network(), Policy(channel_groups=1))
    with pytest.raises(
        ValueError, match=r"state of 1 channel groups must be .*\(1, \d+\), not \(2,"
    ):
        other.load_state_dict(state[0])


def test_in_evaluation_precisions_are_frozen_or_live() -> None:
    policy = Policy(thresholds=(0.1, 0.3, 0.5), dwell=0, every=1, skip=("two",))
    model = convert(network(), policy).eval()
    with Granularity(model) as granularity:
        model(variances(0.8))
        assert granularity.precisions() == {"one": Precision.INT8}
        granularity.live = True
        model(variances(0.8))
        assert granularity.precisions() == {"one": Precision.FP32}
        model(variances(0.05))
        assert granularity.precisions() == {"one": Precision.INT4}
        granularity.live = False
        model(variances(0.8))
        assert granularity.precisions() == {"one": Precision.INT4}


@pytest.mark.parametrize("precision", list(Precision.__members__))
@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_devices_compute_the_same_bits(precision: str, kind: str) -> None:
    outputs = []
    for every in (0, 1):
        torch.manual_seed(0)
        images = nn.Sequential(nn.Conv2d(3, 6, 3, stride=2), nn.Conv2d(6, 2, (2, 1)))
        model = convert(images if kind == "conv" else network(), Policy(fixed=precision))
        x = torch.randn(4, 3, 9, 7) if kind == "conv" else torch.randn(9, 12)
        seed = torch.randn(4, 2, 3, 3) if kind == "conv" else torch.randn(9, 5)
        with Granularity(model, "golden:", offload=every) as granularity:
            y = model(x)
            y.backward(seed)
            outputs.append([y, *(p.grad for p in model.parameters() if p.grad is not None)])
            if granularity.offloaded:
                assert granularity.offloaded.products == 2
                assert granularity.offloaded.bytes_moved > 0
    for one, other in zip(*outputs, strict=True):
        assert torch.equal(one, other)


def test_every_so_many_steps_are_offloaded() -> None:
    model = convert(network(), Policy(fixed="INT8"))
    with Granularity(model, offload=3) as granularity:
        counts = []
        for _ in range(7):
            model(torch.randn(2, 12))
            granularity.step()
            counts.append(granularity.offloaded.products)
    assert counts == [2, 2, 2, 4, 4, 4, 6]


def test_flags_of_all_sums_are_kept() -> None:
    model = convert(nn.Linear(2, 2, bias=False), Policy(fixed="FP32"))
    with Granularity(model, offload=1) as granularity, torch.no_grad():
        model.weight.copy_(torch.tensor([[0.0, 1.0], [3e38, 3e38]]))
        model(torch.tensor([[torch.inf, 1.0], [3.0, 3.0]]))
        wanted = Flag.INVALID | Flag.OVERFLOW | Flag.INEXACT
        assert granularity.offloaded.flags == wanted


@pytest.mark.parametrize(
    "policy", [Policy(ceiling="INT8"), Policy(fixed="INT4"), Policy(floor="INT8", ceiling="INT8")]
)
def test_a_device_of_integers_alone_computes_all_that_such_layers_ask_for(policy: Policy) -> None:
    model, build = convert(network(), policy), configuration("granular", precisions=INTEGERS)
    with Granularity(model, adagrain.open_device("golden:", build), offload=1) as granularity:
        step(model, granularity, variances(0.8))
        assert granularity.offloaded.products == 2


def test_a_device_that_dies_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(dies: bool) -> list[object]:
        model = convert(network(), Policy(every=1, penalty=0.1))
        logs: list[object] = []
        with Granularity(model, offload=1) as granularity:
            for number in range(8):
                if dies and number == 4:
                    monkeypatch.setattr(granularity.device._session.transport, "send", _dead)
                torch.manual_seed(number)
                y = model(torch.randn(8, 12))
                (y.square().mean() + granularity.penalty()).backward()
                logs.append((granularity.step(), y.tolist()))
            assert granularity.device.counters()["fallbacks"] == dies
        return logs

    assert run(dies=True) == run(dies=False)


def _dead(*_: object) -> None:
    raise DeviceError("unplugged")


def test_work_is_added_up_over_steps() -> None:
    """10 rows forward, and each layer's two products backward; one's input learns nothing."""
    model = convert(network(), Policy(fixed="FP32", gradients="FP32"))
    with Granularity(model) as granularity:
        for steps in (1, 2, 3):
            model(torch.randn(10, 12)).sum().backward()
            log = granularity.step()
            assert log.work[Precision.FP32] == 2 * 960 + 3 * 400
            assert granularity.work[Precision.FP32] == steps * log.work[Precision.FP32]
            assert sum(granularity.work.values()) == granularity.work[Precision.FP32]


def test_as_many_channel_groups_as_the_device_has_records() -> None:
    model = convert(
        network(251),
        Policy(every=1),
        {"one": Policy(channel_groups=251, every=1), "two": Policy(channel_groups=5, every=1)},
    )
    with Granularity(model) as granularity:
        assert len(step(model, granularity, torch.randn(2, 12))) == 256
        assert len(granularity.device.precisions.state()) == 256


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Granularity(network()), "model must have granular layers"),
        (
            lambda: Granularity(convert(network()), "golden:", preset="full"),
            "layers need a build with a granularity unit: device preset 'full' has no slices",
        ),
        (
            lambda: Granularity(
                convert(network(), Policy(ceiling="FP16")),
                adagrain.open_device("golden:", configuration("granular", precisions=INTEGERS)),
                offload=1,
            ),
            "precision must be one of INT8, INT4 on device preset 'granular', not FP16",
        ),
        (lambda: Granularity(convert(network()), offload=-1), "offload must be at least 0, not -1"),
        (
            lambda: Granularity(
                convert(
                    network(2000),
                    Policy(channel_groups=5, skip=()),
                    {"one": Policy(channel_groups=2000)},
                )
            ),
            "at most 256 channel groups, as many as the device has records, not 2005",
        ),
    ],
)
def test_what_cannot_be_bound(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_budget_is_not_its_manager() -> None:
    budget = Budget(bits=8)
    message = r"resources must be a ResourceManager, not Budget\(.*bits=8"
    with pytest.raises(TypeError, match=message):
        Granularity(convert(network()), resources=budget)  # type: ignore[arg-type]


def test_what_is_refused_lets_go_of_the_device_that_it_has_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    def close(self: Coprocessor) -> None:
        closed.append(self)

    monkeypatch.setattr(Coprocessor, "close", close)
    model = convert(network())
    with pytest.raises(ValueError, match="has no slices"):
        Granularity(model, preset="full")
    assert len(closed) == 1
    with adagrain.open_device("golden:", "full") as device:
        with pytest.raises(ValueError, match="has no slices"):
            Granularity(model, device)
        assert len(closed) == 1, "whoever has opened it closes it"


def test_whoever_has_opened_a_device_closes_it() -> None:
    with adagrain.open_device("golden:", "granular") as device:
        Granularity(convert(network()), device).close()
        assert device.echo(b"open") == b"open"


def test_is_part_of_the_library() -> None:
    assert adagrain.granular.convert is convert
    assert configuration("granular").slices > 0
