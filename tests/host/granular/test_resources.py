"""Floors and ceilings of precisions, from budgets and from the host's load."""

import math
from collections.abc import Callable

import pytest
import torch
from granular_networks import network, step
from torch import nn

from adagrain.host.granular import (
    Budget,
    BudgetError,
    Granularity,
    Policy,
    ResourceManager,
    convert,
)
from adagrain.host.granular.resources import Cost, slice_cycles
from adagrain.models.interface.precision import Precision


@pytest.mark.parametrize(
    ("budget", "wanted"),
    [
        (Budget(bits=32), ["FP32", "FP32"]),
        (Budget(bits=22), ["FP16", "FP32"]),
        (Budget(bits=20), ["FP16", "FP16"]),
        (Budget(bits=8), ["INT8", "INT8"]),
        (Budget(bits=4), ["INT4", "INT4"]),
        (Budget(cycles=960 // 4 + 400 // 4), ["INT8", "INT8"]),
        (Budget(bytes=96 * 2 + 40 * 4), ["FP16", "FP32"]),
    ],
    ids=str,
)
def test_budgets_lower_ceilings(budget: Budget, wanted: list[str]) -> None:
    """One has 960 multiplications and 96 weights, two 400 and 40; both want FP32."""
    policy = Policy(thresholds=(1e-5, 2e-5, 3e-5), hysteresis=0.0, dwell=0, every=1)
    model = convert(network(), policy)
    with Granularity(model, resources=ResourceManager(budget, slices=1)) as granularity:
        found = step(model, granularity, torch.randn(10, 12))
        assert found == [Precision[name] for name in wanted]
        assert granularity.overrides == sum(name != "FP32" for name in wanted)


@pytest.mark.parametrize(
    ("budget", "policy", "message"),
    [
        (
            Budget(cycles=100),
            Policy(),
            "cycles must be at least 170 with all channel groups at their floors, not 100",
        ),
        (
            Budget(bytes=10),
            Policy(),
            "bytes must be at least 68 with all channel groups at their floors, not 10",
        ),
        (
            Budget(bits=4),
            Policy(fixed="FP32"),
            "bits must be at least 32 with all channel groups at their floors, not 4",
        ),
        (
            Budget(cycles=1000),
            Policy(fixed="FP32"),
            "cycles must be at least 1360 with all channel groups at their floors, not 1000",
        ),
        (
            Budget(bits=5),
            Policy(floor="INT8"),
            "bits must be at least 8 with all channel groups at their floors, not 5",
        ),
    ],
)
def test_budgets_that_cannot_be_met(budget: Budget, policy: Policy, message: str) -> None:
    model = convert(network(), policy)
    with Granularity(model, resources=ResourceManager(budget, slices=1)) as granularity:
        before = granularity.precisions()
        model(torch.randn(10, 12)).sum().backward()
        with pytest.raises(BudgetError, match=message):
            granularity.step()
        assert granularity.precisions() == before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cycles": 0}, "cycles must be above 0, not 0"),
        ({"bits": -1.0}, "bits must be from 4 to 32, not -1"),
        ({"bits": 3.9}, "bits must be from 4 to 32, not 3.9"),
        ({"bits": math.inf}, "bits must be from 4 to 32, not inf"),
        ({"cpu": 1.5}, "cpu must be above 0 and at most 1, not 1.5"),
        ({"memory": 0.0}, "memory must be above 0 and at most 1, not 0"),
    ],
)
def test_budgets_that_make_no_sense(fields: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Budget(**fields)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Budget(cycles="5"), "cycles must be a number, not '5'"),
        (lambda: Budget(bytes=True), "bytes must be a number, not True"),
        (lambda: ResourceManager(None), "budget must be a Budget, not None"),
    ],
)
def test_budgets_of_other_kinds(make: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_a_fixed_layer_counts_as_what_it_computes_in() -> None:
    """One is fixed at INT4, so that two may have FP16, with 0.7 * 4 + 0.3 * 16 bits."""
    policy = Policy(thresholds=(1e-5, 2e-5, 3e-5), hysteresis=0.0, dwell=0, every=1)
    model = convert(network(), policy, {"one": Policy(fixed="INT4")})
    with Granularity(model, resources=ResourceManager(Budget(bits=8))) as granularity:
        found = step(model, granularity, torch.randn(10, 12))
    assert found == [Precision.INT4, Precision.FP16]


def test_the_device_s_counters_say_what_slices_leave_idle() -> None:
    """Two has 5 outputs on 4 slices, which compute 8."""
    policy = Policy(thresholds=(1e-5, 2e-5, 3e-5), hysteresis=0.0, dwell=0, every=1)
    reckoned = (960 + 400) // 4
    limits = {}
    for offload in (0, 1):
        model = convert(network(), policy)
        manager = ResourceManager(Budget(cycles=reckoned))
        with Granularity(model, offload=offload, resources=manager) as granularity:
            step(model, granularity, torch.randn(10, 12))
            limits[offload] = [p.name for p in step(model, granularity, torch.randn(10, 12))]
            state = granularity.state_dict()
    assert limits[0] == ["FP32", "FP32"]
    assert limits[1] != limits[0]
    assert manager.slices == 4
    assert manager.overhead > 1
    again = ResourceManager(Budget(cycles=reckoned))
    with Granularity(model, resources=again) as granularity:
        granularity.load_state_dict(state)
    assert again.overhead == manager.overhead


def test_a_resumed_run_knows_what_unused_layers_cost() -> None:
    """One is used in every second step; a budget counts with what it took in the last one."""
    policy = Policy(thresholds=(1e-5, 2e-5, 3e-5), hysteresis=0.0, dwell=0, every=1)

    def run(model: nn.Sequential, granularity: Granularity, steps: range) -> list[object]:
        found: list[object] = []
        for number in steps:
            torch.manual_seed(number)
            used, width = (model, 12) if number % 2 == 0 else (model[2:], 8)
            used(torch.randn(10, width))
            granularity.step()
            found.append(granularity.precisions())
        return found

    def begun() -> tuple[nn.Sequential, Granularity]:
        model = convert(network(), policy)
        return model, Granularity(model, resources=ResourceManager(Budget(bits=12)))

    whole, granularity = begun()
    run(whole, granularity, range(3))
    state = whole.state_dict(), granularity.state_dict()
    state = {k: v.clone() for k, v in state[0].items()}, state[1]
    wanted = run(whole, granularity, range(3, 8))
    again, granularity = begun()
    again.load_state_dict(state[0])
    granularity.load_state_dict(state[1])
    assert run(again, granularity, range(3, 8)) == wanted


def test_a_busy_host_lowers_ceilings_until_it_is_idle() -> None:
    loads = iter(
        [(0.5, 0.2), (0.95, 0.2), (0.95, 0.2), (0.85, 0.2), (0.5, 0.2), (0.1, 0.99), (0.1, 0.1)]
    )
    manager = ResourceManager(Budget(cpu=0.9, memory=0.9), load=lambda: next(loads))
    model = convert(network(), Policy())
    with Granularity(model):
        costs = [cost for layer in (model.one, model.two) for cost in layer.costs()]
    ceilings = []
    for _ in range(7):
        manager.feel()
        ceilings.append(manager.bounds(costs)[0][1].name)
    assert ceilings == ["FP32", "FP16", "INT8", "INT8", "FP16", "INT8", "FP16"]


def test_the_host_s_load_is_seen() -> None:
    model = convert(network(), Policy(every=1))
    manager = ResourceManager(Budget(cpu=1.0, memory=1e-6))
    with Granularity(model, resources=manager) as granularity:
        step(model, granularity, torch.randn(4, 12))
        assert manager.pressure == 1


def test_all_layers_of_a_pass_see_the_host_s_load_once() -> None:
    """In a step, and in an evaluation pass, in which layers decide one after the other."""
    model = convert(network(), Policy(every=1))
    manager = ResourceManager(Budget(cpu=0.5), load=lambda: (1.0, 0.0))
    with Granularity(model, resources=manager) as granularity:
        granularity.live = True
        model.eval()(torch.randn(4, 12))
        assert manager.pressure == 1
        step(model.train(), granularity, torch.randn(4, 12))
        assert manager.pressure == 2
        model.eval()(torch.randn(4, 12))
        assert manager.pressure == 3


def test_evaluation_passes_follow_each_other() -> None:
    loads = iter([(1.0, 0.0), (1.0, 0.0), (0.1, 0.0)])
    model = convert(network(), Policy())
    manager = ResourceManager(Budget(cpu=0.5), load=lambda: next(loads))
    with Granularity(model, resources=manager) as granularity:
        granularity.live = True
        found = []
        for _ in range(3):
            model.eval()(torch.randn(4, 12))
            found.append(manager.pressure)
    assert found == [1, 2, 1]


def test_evaluation_refuses_what_a_budget_forbids_as_training_does() -> None:
    """Twice the places of the step before take twice the cycles."""
    model, manager = convert(network(), Policy()), ResourceManager(Budget(cycles=170), slices=1)
    with Granularity(model, resources=manager) as granularity:
        step(model, granularity, torch.randn(10, 12))
        granularity.live = True
        message = r"^cycles must be at least \d+ with all channel groups"
        with pytest.raises(BudgetError, match=message):
            model.eval()(torch.randn(20, 12))


COSTS = [
    Cost("one", macs=1000, weights=99, floor=Precision.INT4, ceiling=Precision.FP32),
    Cost("two", macs=333, weights=7, floor=Precision.INT8, ceiling=Precision.FP16),
]


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("cycles", 125 + 84),  # 8 and 4 lanes
        ("bytes", 99 / 2 + 7),
        ("bits", (1000 * 4 + 333 * 8) / 1333),
    ],
)
def test_the_least_budgets(name: str, least: float) -> None:
    """Exactly so much does; what the message names does too, and not much less."""
    floors = [(Precision.INT4, Precision.INT4), (Precision.INT8, Precision.INT8)]
    assert ResourceManager(Budget(**{name: least})).bounds(COSTS) == floors
    with pytest.raises(BudgetError) as error:
        ResourceManager(Budget(**{name: least * 0.99})).bounds(COSTS)
    advised = float(str(error.value).split("must be at least ")[1].split()[0])
    assert least <= advised <= least + (1e-6 if name == "bits" else 1)
    assert ResourceManager(Budget(**{name: advised})).bounds(COSTS) == floors


def test_slices_share_the_work() -> None:
    assert [slice_cycles(33, Precision.INT8, slices) for slices in (1, 2, 4, 8, 16)] == [
        *(9, 5, 3, 2, 1)
    ]


@pytest.mark.parametrize("name", ["cpu", "memory"])
@pytest.mark.parametrize(("used", "pressure"), [(0.45, 1), (0.44, 0), (0.5, 1), (0.51, 2)], ids=str)
def test_parts_of_the_host(name: str, used: float, pressure: int) -> None:
    """Of the half that may be busy: relief below nine tenths, pressure above all of it."""
    loads = iter([0.6, used])

    def load() -> tuple[float, float]:
        part = next(loads)
        return (part, 1.0) if name == "cpu" else (1.0, part)

    manager = ResourceManager(Budget(**{name: 0.5}), load=load)
    for _ in range(2):
        manager.feel()
    assert manager.pressure == pressure


def test_pressure_has_an_end() -> None:
    manager = ResourceManager(Budget(cpu=0.5), load=lambda: (1.0, 0.0))
    found = []
    for _ in range(5):
        manager.feel()
        found.append(manager.bounds(COSTS))
    ceilings = [[ceiling for _, ceiling in bounds] for bounds in found]
    assert [one.name for one, _ in ceilings] == ["FP16", "INT8", "INT4", "INT4", "INT4"]
    assert {two for _, two in ceilings} == {Precision.INT8}
    assert manager.pressure == 3
