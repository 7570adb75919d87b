"""The reducer alone, in a process group of one."""

import warnings
from collections.abc import Mapping
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.distributed.exchange import DenseExchange, Exchange, Pending
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.reducer import RegionReducer
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.distributed.timing import Timing

pytestmark = pytest.mark.usefixtures("lone_worker")


def reducer_of(
    network: nn.Module, exchange: Exchange | None = None, **options: object
) -> RegionReducer:
    workers = Lockstep(dist.group.WORLD), exchange or DenseExchange(dist.group.WORLD)
    device = adagrain.open_device("golden:", "full")
    chosen = ReducerOptions.of({"cadence": None} | options)
    return RegionReducer(adagrain.regions(network, "tensor"), device, *workers, chosen)


def backward(
    reducer: RegionReducer, *parameters: torch.Tensor, value: float | torch.Tensor = 1.0
) -> None:
    reducer.begin_pass()
    for parameter in parameters:
        reducer.add(parameter, torch.ones_like(parameter) * value)
    reducer.begin_exchange(parameters)
    reducer.end_pass()


@pytest.mark.parametrize(("dtype", "size"), [(torch.float32, 4), (torch.bfloat16, 2)])
def test_bytes_of_dense_exchanges_are_those_of_the_elements(dtype: torch.dtype, size: int) -> None:
    network = nn.Linear(3, 5).to(dtype)
    reducer = reducer_of(network, cadences={"bias": 2})
    for _ in range(2):
        backward(reducer, *network.parameters())
        reducer.decide()
    assert reducer.bytes_dense == 2 * 20 * size
    assert reducer.bytes_sent == (2 * 15 + 5) * size


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (torch.float16, [3e4] * 4),
        (torch.bfloat16, [256.0, 1.0, 1.0, 1.0]),
        (torch.bfloat16, [-1.0, 0.007, 1.0, 0.0]),
        (torch.float32, [0.1, 0.2, -0.3, 1e-9]),
    ],
)
def test_means_of_a_period_are_exact_sums_rounded_once(
    dtype: torch.dtype, values: list[float]
) -> None:
    """Where parameters have 16 bits; FP32 is summed in FP32."""
    network = nn.Linear(3, 5).to(dtype)
    options = {"cadences": {"weight": 4, "bias": 4}}
    reducer = reducer_of(network, **options)
    given = torch.tensor(values, dtype=dtype).float()
    mean = torch.empty_like(network.weight)
    for number, value in enumerate(given.tolist()):
        backward(reducer, *network.parameters(), value=value)
        reducer.write_back(network.weight, mean)
        reducer.decide()
        if number == 1:  # in the middle of the period
            state, reducer = reducer.state_dict(), reducer_of(network, **options)
            reducer.load_state_dict(state)
    wanted = sum(given[1:], start=given[0]) / 4
    assert set(mean.detach().flatten().tolist()) == {float(wanted.to(dtype))}
    assert reducer.dropped == 0


def test_a_model_with_a_parameter_without_elements_is_trained() -> None:
    network = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    network.register_parameter("empty", nn.Parameter(torch.zeros(0)))
    model = DistributedDataParallel(network, find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = network[0].weight.detach().clone()
    adagrain.register(model, optimizer, preset="tiny")
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    assert not torch.equal(network[0].weight, before)


def test_the_loss_of_a_step_is_the_mean_of_its_passes() -> None:
    network = nn.Linear(2, 2)
    reducer = reducer_of(network)
    for loss in (1.0, 2.0, 6.0):
        reducer.report_loss(loss)
        backward(reducer, *network.parameters())
    assert reducer.decide().agreed.loss == 3 << 16
    backward(reducer, *network.parameters())
    assert reducer.decide().agreed.loss is None


@pytest.mark.parametrize(("loss", "counts"), [(-0.5, 0), (1e6, (1 << 32) - 1)])
def test_a_loss_out_of_range_is_warned_of_once(loss: float, counts: int) -> None:
    network = nn.Linear(2, 2)
    reducer = reducer_of(network)
    with pytest.warns(UserWarning, match=f"loss must be from 0 to below 65536 .*, not {loss};"):
        reducer.report_loss(loss)
    with warnings.catch_warnings(action="error"):
        reducer.report_loss(loss)
    backward(reducer, *network.parameters())
    assert reducer.decide().agreed.loss == counts


@pytest.mark.parametrize("then", [1.0, torch.tensor([torch.nan, 1.0])], ids=["0", "2"])
def test_a_gradient_that_is_not_finite_in_one_of_several_passes(
    then: float | torch.Tensor, caplog: pytest.LogCaptureFixture
) -> None:
    """Of all passes the one with the most elements is told of."""
    network = nn.Linear(2, 2, bias=False)
    reducer = reducer_of(network)
    backward(reducer, network.weight, value=torch.nan)
    backward(reducer, network.weight, value=then)
    gradient = torch.ones_like(network.weight)
    reducer.write_back(network.weight, gradient)
    assert not gradient.any() and not reducer.due
    assert reducer.decide().dropped == ("weight",)
    assert caplog.messages[0].startswith("step 0: 4 elements of the gradient of region 'weight'")
    backward(reducer, network.weight)
    assert reducer.due == {0: 1}


def test_all_gradients_must_come() -> None:
    network = nn.Linear(2, 2)
    with pytest.raises(
        RuntimeError, match=r"gradients of all 2 parameter slices must be added before .* 1 w"
    ):
        backward(reducer_of(network), network.weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cadence_maximum": 3}, "no option 'cadence_maximum'; did you mean 'cadence_max'"),
        ({"frequency": 3}, "no option 'frequency'; it has cadence, cadences, cadence_max, policy,"),
        ({"epoch_steps": 0}, "epoch_steps must be at least 1, not 0"),
        ({"compare_weights": -1}, "compare_weights must not be negative, not -1"),
    ],
)
def test_options_are_checked(options: dict[str, int], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ReducerOptions.of(options)


@pytest.mark.parametrize("value", [0.5, 3 * 2.0**-20, 1.0, 2.0**40])
def test_units_of_energies_make_squares_of_gradients(value: float) -> None:
    """In the second step: in the first, no exponent was known."""
    network = nn.Linear(3, 5)
    reducer = reducer_of(network)
    for _ in range(2):
        backward(reducer, *network.parameters(), value=value)
        log = reducer.decide()
    for name, elements in (("weight", 15), ("bias", 5)):
        update, unit = log.updates[name], log.units[name]
        assert update["n"] * unit == pytest.approx(elements * value**2, rel=1e-3)
        assert update["a"] * unit == pytest.approx(elements * value**2, rel=1e-3)


def test_a_state_is_restored_whole() -> None:
    """In the middle of a period, after an update that was dropped."""
    network = nn.Linear(3, 5)
    options = {"cadences": {"bias": 2}, "timing": Timing.parse("fixed")}
    reducer = reducer_of(network, **options)
    backward(reducer, *network.parameters(), value=torch.inf)
    reducer.decide()
    for value in (0.5, 3.0):
        backward(reducer, *network.parameters(), value=value)
        reducer.decide()
    state = reducer.state_dict()
    assert (state["step"], state["dropped"], state["cadences"]) == (3, 2, [1, 2])
    again = reducer_of(network, **options)
    fresh = again.state_dict()
    assert fresh.keys() == state.keys()
    changed = {name for name in state if str(fresh[name]) != str(state[name])}
    assert changed == {"step", "exponents", "accumulators", "check", "dropped", "bytes"}
    again.load_state_dict(state)
    restored = again.state_dict()
    assert {name: str(value) for name, value in restored.items()} == {
        name: str(value) for name, value in state.items()
    }
    for one in (reducer, again):
        backward(one, *network.parameters(), value=-2.0)
    assert again.decide() == reducer.decide()
    assert str(again.state_dict()) == str(reducer.state_dict())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epoch_steps", 8, "epoch_steps of the state must be 16, not 8"),
        ("cadence_max", [8, 8], r"cadence_max of the state must be \[4, 4\], not \[8, 8\]"),
        ("workers", 2, "state must be of 1 workers, not 2"),
        ("rank", 1, "state must be of worker 0, not of worker 1: each saves and loads its own"),
        ("kind_of_exchange", "Other", "state must be of a DenseExchange, not of a Other"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(name: str, value: object, message: str) -> None:
    network = nn.Linear(3, 5)
    trained, fresh = reducer_of(network), reducer_of(network)
    backward(trained, *network.parameters())
    trained.decide()
    before = str(fresh.state_dict())
    with pytest.raises(ValueError, match=message):
        fresh.load_state_dict(trained.state_dict() | {name: value})
    assert str(fresh.state_dict()) == before


def test_what_an_exchange_refuses_changes_nothing() -> None:
    """It knows best whether a state is its own, and is asked first."""
    network = nn.Linear(3, 5)
    trained = reducer_of(network)
    backward(trained, *network.parameters())
    trained.decide()

    class Refusing(DenseExchange):
        def load_state_dict(self, state: Mapping[str, Any]) -> None:
            raise ValueError("mask of the state must be another")

    fresh = reducer_of(network, Refusing(dist.group.WORLD))
    before = str(fresh.state_dict())
    with pytest.raises(ValueError, match="mask of the state must be another"):
        fresh.load_state_dict(trained.state_dict() | {"kind_of_exchange": "Refusing"})
    assert str(fresh.state_dict()) == before


class Slow(DenseExchange):
    """An exchange that is waited for as long as it is told, by a clock that nothing else moves."""

    def __init__(self, seconds: list[float]) -> None:
        super().__init__(dist.group.WORLD)
        self._seconds = seconds
        self._now = 0.0

    def perf_counter(self) -> float:
        return self._now

    def begin(self, *arguments: Any, **options: Any) -> Pending:
        pending, seconds = super().begin(*arguments, **options), self._seconds.pop(0)

        class Waiting:
            @staticmethod
            def wait() -> None:
                self._now += seconds
                pending.wait()

        return Waiting()


def test_stalls_are_told_of_in_the_pass_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them once, and in the sum of the step that they are told in."""
    network, exchange = nn.Linear(3, 5), Slow([0.1, 0.2, 0.4, 0.0])
    monkeypatch.setattr("adagrain.host.distributed.gather.time", exchange)
    reducer = reducer_of(network, exchange=exchange)
    stalls = []
    for passes in (1, 2, 1):
        for _ in range(passes):
            backward(reducer, *network.parameters())
        stalls.append(reducer.decide().agreed.stall / 1e6)
    assert stalls == pytest.approx([0, 0.3, 0.4], abs=1e-5)
