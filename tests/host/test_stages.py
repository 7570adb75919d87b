"""The reducer's stages: their order, what they hand on, and the two ways through them."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.distributed.exchange import DenseExchange, Flat, Pending, Share
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.reducer import RegionReducer
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.distributed.timing import Timing
from adagrain.host.telemetry.events import TensorKind

pytestmark = pytest.mark.usefixtures("lone_worker")

#: One pass of two buckets, and the step.
STAGES = [
    "lockstep",
    *("accumulate", "begin exchange") * 2,
    "statistics of local",
    "begin to agree",
    "wait",
    "agree",
    "statistics of average",
    "decide",
    "commit",
]


def told(owner: Any, method: str, tell: Callable[..., None]) -> None:
    """Have a method tell of each of its calls first."""
    real = getattr(owner, method)

    def run(*arguments: Any, **options: Any) -> Any:
        tell(*arguments)
        return real(*arguments, **options)

    setattr(owner, method, run)


def test_stages_follow_each_other_and_exchanges_begin_bucket_by_bucket() -> None:
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(30, 30), nn.Linear(30, 30)), bucket_cap_mb=0.003
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = adagrain.register(model, optimizer, preset="tiny", cadence=None)
    happened: list[str] = []

    def train() -> None:
        happened.clear()
        optimizer.zero_grad()
        model(torch.ones(2, 30)).sum().backward()
        optimizer.step()

    train()
    train()  # after which DDP has rebuilt its buckets
    reducer, stages = state.reducer, state.reducer._stages
    told(reducer, "begin_pass", lambda: happened.append("lockstep"))
    told(reducer, "add_together", lambda *_: happened.append("accumulate"))
    told(reducer._exchange, "begin", lambda *_: happened.append("begin exchange"))
    told(
        stages.measure,
        "energies",
        lambda _, kind, *__: happened.append(f"statistics of {kind}"),
    )
    told(reducer._gather, "wait", lambda _: happened.append("wait"))
    told(stages.agreement, "begin", lambda *_: happened.append("begin to agree"))
    told(stages.agreement, "end", lambda _: happened.append("agree"))
    told(reducer.device, "update_regions", lambda _: happened.append("decide"))
    told(stages.commit, "advance", lambda *_: happened.append("commit"))
    train()
    assert happened == STAGES


class Network(nn.Module):
    """Regions of several slices, of one, and a parameter in none if it is to stay apart."""

    def __init__(self, *, apart: bool = False) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(5, 7), nn.Linear(7, 3, bias=False)
        self.last = nn.Linear(3, 2)
        self.last.in_regions = not apart


def reducer_of(
    network: nn.Module, exchange: Any = None, *, by: str = "module", **options: Any
) -> RegionReducer:
    chosen = ReducerOptions.of({"cadence": None, "timing": Timing.parse("fixed")} | options)
    device = adagrain.open_device("golden:", "tiny")
    lockstep, exchange = Lockstep(dist.group.WORLD), exchange or DenseExchange(dist.group.WORLD)
    return RegionReducer(adagrain.regions(network, by), device, lockstep, exchange, chosen)


def trained(
    reducer: RegionReducer, network: nn.Module, *, together: bool, poison: int = -1
) -> tuple[list[torch.Tensor], bool]:
    """The results of five steps, and True if gradients were taken together."""
    generator = torch.Generator().manual_seed(3)
    parameters = [*network.parameters()][::-1]
    sizes, back, bundled = [p.numel() for p in parameters], [], False
    for step in range(5):
        flat = torch.randn(sum(sizes), generator=generator)
        flat[3] = torch.nan if step == poison else flat[3]
        parts = zip(flat.split(sizes), parameters, strict=True)
        gradients = [part.view_as(parameter) for part, parameter in parts]
        reducer.begin_pass()
        bundle = None
        if together:
            bundle = reducer.add_together(parameters, lambda g=gradients: g, flat)
        else:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                reducer.add(parameter, gradient)
        reducer.begin_exchange(parameters, bundle)
        reducer.end_pass()
        if bundle is not None:
            flat = reducer.averages_together(bundle).clone()
        else:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                reducer.write_back(parameter, gradient)
        reducer.decide()
        back.append(flat)
        bundled |= bundle is not None
    return back, bundled


@pytest.mark.parametrize(
    ("options", "apart", "bundled"),
    [
        ({}, False, True),
        ({"by": "rows:3"}, False, True),
        ({"by": lambda name, _: "weight" if "weight" in name else "bias"}, False, True),
        ({"poison": 2}, False, True),
        ({"cadences": {"first": 2}}, False, False),
        ({}, True, False),
    ],
)
def test_gradients_that_are_taken_together_are_those_that_are_taken_alone(
    options: dict[str, Any], apart: bool, bundled: bool
) -> None:
    network, poison = Network(apart=apart), options.pop("poison", -1)
    logs: list[list[Any]] = [[], []]
    one, other = (reducer_of(network, log=own.append, **options) for own in logs)
    back, was_bundled = trained(one, network, together=True, poison=poison)
    alone, _ = trained(other, network, together=False, poison=poison)
    assert was_bundled == bundled
    assert [own.tolist() for own in back] == [own.tolist() for own in alone]
    states = [own.state_dict() for own in (one, other)]
    for state in states:  # a region of cadence 1 leaves nothing to a later step
        rows = zip(state.pop("accumulators"), state["cadences"], strict=True)
        state["left"] = [total.tolist() for total, cadence in rows if cadence > 1]
    assert states[0] == states[1]
    assert logs[0] == logs[1]
    assert one.dropped == (1 if poison >= 0 else 0)


def test_gradients_that_do_not_lie_together_are_taken_alone() -> None:
    network = nn.Linear(3, 3)
    reducer = reducer_of(network, by="tensor")
    reducer.begin_pass()
    flat = torch.arange(12.0)
    apart = [flat[:9].view(3, 3).t(), flat[9:]]
    assert reducer.add_together([*network.parameters()], lambda: apart, flat) is None
    reducer.begin_exchange([*network.parameters()])
    reducer.end_pass()
    assert reducer._accumulators.averages[0][0].tolist() == [0, 3, 6, 1, 4, 7, 2, 5, 8]


class Halves(DenseExchange):
    """An exchange of another kind: it keeps what it was given, and brings back halves."""

    def __init__(self) -> None:
        super().__init__(dist.group.WORLD)
        self.given: list[list[int | None]] = []

    def begin(self, shares: Sequence[Share], flat: Flat | None = None) -> Pending:
        self.given.append([share.region for share in shares])
        pending = super().begin(shares, flat)
        averages = [share.average for share in shares]

        class Halved:
            def wait(self) -> None:
                pending.wait()
                torch._foreach_mul_(averages, 0.5)

        return Halved()


def test_an_exchange_of_another_kind_takes_the_place_of_the_dense_one() -> None:
    """It is told of regions, and of those alone that are due."""
    network = Network(apart=True)
    exchange = Halves()
    back, _ = trained(
        reducer_of(network, exchange, cadences={"second": 2}), network, together=False
    )
    assert exchange.given == [[0, 0, None, None], [1, 0, 0, None, None]] * 2 + [[0, 0, None, None]]
    generator = torch.Generator().manual_seed(3)
    assert torch.equal(back[0][-42:], torch.randn(71, generator=generator)[-42:] * 0.5)


def test_kinds_of_tensors_have_names() -> None:
    assert [*map(str, TensorKind)] == ["local", "average"]


def test_the_first_buckets_are_let_go() -> None:
    """DDP has others from the second pass on, of one size with those."""
    network = nn.Sequential(nn.Linear(30, 30), nn.Linear(30, 30))
    model = DistributedDataParallel(network, bucket_cap_mb=0.003)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen: list[StorageWeakRef] = []
    state = adagrain.register(model, optimizer, preset="tiny", cadence=None)
    told(
        state.reducer.device,
        "batch",
        lambda tensors: seen.extend(StorageWeakRef(x.untyped_storage()) for x in tensors),
    )
    for _ in range(3):
        model(torch.ones(2, 30)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert [own.expired() for own in seen] == [True] * 4 + [False] * 4
