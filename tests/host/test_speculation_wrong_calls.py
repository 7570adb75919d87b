"""Speculation that is asked for, or used, in ways that do not work: refused by name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from speculation_setup import begun, plain, sgd
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.errors import ClosedError
from adagrain.host.regions.regions import ParameterSlice, Region, Regions
from adagrain.host.speculation import beginning
from adagrain.host.speculation.runtime import Runtime

pytestmark = pytest.mark.usefixtures("lone_worker")


class Kept(torch.optim.SGD):
    """Keeps a number in its groups."""

    def step(self, closure: Any = None) -> None:
        super().step(closure)
        self.param_groups[0]["taken"] = 1


class NoModule:
    """Has parameters, all the same."""

    def parameters(self) -> list[nn.Parameter]:
        return [nn.Parameter(torch.ones(2))]


class Apart(nn.Module):
    """Has parameters that no region has."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(12, 2)
        self.inner.in_regions = False
        self.outer = nn.Linear(12, 2)


def lacking(model: nn.Module) -> Regions:
    return Regions([*adagrain.regions(model, "tensor")][1:])


def whole(model: nn.Module) -> Regions:
    parts = [ParameterSlice(name, own) for name, own in model.named_parameters()]
    return Regions([Region("all", tuple(parts))])


def shared(model: nn.Module) -> Regions:
    name, weight = "0.weight", model[0].weight  # type: ignore[index]
    both = [Region(own, (ParameterSlice(name, weight),)) for own in ("a", "b")]
    return Regions([*both, *adagrain.regions(model, "tensor")[1:]])


def with_stranger(model: nn.Module) -> Regions:
    other = ParameterSlice("x.weight", nn.Linear(2, 2).weight)
    return Regions([*adagrain.regions(model), Region("x", (other,))])


def with_frozen(model: nn.Module) -> Regions:
    divided = adagrain.regions(model, "tensor")
    divided[0].slices[0].parameter.requires_grad_(False)
    return divided


def expanded_parameter() -> nn.Module:
    model = nn.Linear(12, 2)
    model.bias = nn.Parameter(torch.zeros(1).expand(2))
    return model


def expanded_buffer() -> nn.Module:
    model = plain()
    model.register_buffer("shift", torch.zeros(1).expand(8))
    return model


def hooked() -> nn.Module:
    model = plain()
    model[0].weight.register_hook(lambda gradient: gradient)  # type: ignore[index]
    return model


WRONG: dict[str, tuple[Callable[[], nn.Module], dict[str, Any], str]] = {
    "ddp": (
        lambda: DistributedDataParallel(plain()),
        {},
        "model must not be a DistributedDataParallel: speculation exchanges gradients by itself",
    ),
    "compiled": (
        lambda: nn.Sequential(torch.compile(nn.Linear(12, 2))),
        {},
        r"cannot speculate with module '0' \(OptimizedModule\)",
    ),
    "hooked": (hooked, {}, "parameter '0.weight' must have no hooks, but has"),
    "expanded parameter": (
        expanded_parameter,
        {},
        "parameter 'bias' must have memory for each of its elements, but is expanded to shape .2,",
    ),
    "expanded buffer": (
        expanded_buffer,
        {},
        "buffer 'shift' must have memory for each of its elements, but is expanded to shape .8,",
    ),
    "rows": (plain, {"by": "rows:2"}, r"'0.weight\[0:8\]' is a block of rows"),
    "in none": (
        plain,
        {"by": lacking},
        "parameter '0.weight' must be in one region, but is in none",
    ),
    "controller": (
        Apart,
        {"by": whole},
        "'inner.weight' must be in no region, as one of a controller, but is in 'all'",
    ),
    "in two": (plain, {"by": shared}, "'0.weight' must be in one region, but is in 'a' and 'b'"),
    "of another model": (
        plain,
        {"by": with_stranger},
        "region 'x' must have trainable parameters of the model, but 'x.weight' is none of them",
    ),
    "frozen": (
        plain,
        {"by": with_frozen},
        "region '0.weight' must have trainable parameters of the model, but '0.weight' is none",
    ),
    "double": (
        lambda: plain().double(),
        {},
        "parameter '0.weight' must be of type torch.float32, .*, as device preset 'full' takes "
        "them, not torch.float64",
    ),
    "one double": (
        lambda: nn.Sequential(nn.Linear(12, 2), nn.Linear(2, 2).double()),
        {},
        "parameter '1.weight' must be of type torch.float32, .*, not torch.float64",
    ),
    "no module": (NoModule, {}, "model must be a module, not <.*NoModule"),
    "no optimizer": (
        plain,
        {"make": lambda _: None},
        "optimizer must be one of torch.optim, or several, not None",
    ),
    "no optimizers": (
        plain,
        {"make": lambda _: []},
        r"optimizer must be one of torch.optim, or several, not \[\]",
    ),
    "one that is none": (
        plain,
        {"make": lambda p: [torch.optim.SGD(p, lr=0.1), "SGD"]},
        r"optimizer must be one of torch.optim, or several, not \[SGD \((.|\n)*, 'SGD'\]",
    ),
    "buckets of frames": (
        plain,
        {"bucket_bytes": 4096, "compression": {"bypass": "never"}},
        "bucket_bytes must be left out with compression whose bypass is 'never', where one frame "
        "has all gradients, not 4096",
    ),
    "momentum twice": (
        plain,
        {
            "make": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
            "compression": {"mask": "top", "momentum": 0.8, "bypass": "never"},
        },
        "momentum of SGD must be 0 where compression has momentum, 0.8, not 0.9",
    ),
    "tiny": (plain, {"preset": "tiny"}, "a device with the unit 'difference', which device preset"),
    "kind": (plain, {"make": torch.optim.LBFGS}, "does not work with LBFGS"),
    "not all": (
        plain,
        {"make": lambda p: torch.optim.SGD([*p][1:], lr=0.1)},
        "parameter '0.weight' must be in the optimizer, but is not",
    ),
    "device": (plain, {"device": 3}, "device must be a url or a Coprocessor, not 3"),
    "group": (plain, {"group": 5}, "group must be a ProcessGroup that has this worker, not 5"),
    "parameters": (
        plain,
        {"parameters": {"noise": "x"}},
        "noise of parameters must be an integer, not 'x'",
    ),
    "tau": (plain, {"tau": -1}, "tau must be a number from 0 on, not -1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_speculation_cannot_begin_with_is_named(case: str) -> None:
    make, options, message = WRONG[case]
    model, options = make(), dict(options)
    kind = options.pop("make", lambda parameters: torch.optim.SGD(parameters, lr=0.1))
    if options.get("by") in (lacking, shared, whole, with_stranger, with_frozen):
        options["by"] = options["by"](model)
    with pytest.raises((TypeError, ValueError), match=message):
        adagrain.speculate(model, kind(model.parameters()), **options)


def test_where_construction_fails_the_model_is_let_go_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the groups of a compressed exchange, too."""

    def fail(_: object) -> None:
        raise KeyError("no such thing")

    model, groups = plain(), len(dist.distributed_c10d._world.pg_map)
    monkeypatch.setattr(Runtime, "_look", fail)
    for options in ({}, {"compression": {"bypass": "never"}}):
        with pytest.raises(KeyError, match="no such thing"):
            adagrain.speculate(model, sgd(model), **options)
        assert len(dist.distributed_c10d._world.pg_map) == groups
    monkeypatch.undo()
    assert "forward" not in vars(model[0])  # type: ignore[index]
    adagrain.speculate(model, sgd(model)).close()


def test_whoever_has_opened_a_device_closes_it() -> None:
    model = plain()
    with adagrain.open_device("golden:", "full") as device:
        with pytest.raises(ValueError, match="tau must be a number from 0 on"):
            adagrain.speculate(model, sgd(model), device, tau=-1)
        with pytest.raises(TypeError, match=r"must be of type torch\.float32"):
            adagrain.speculate(model.double(), sgd(model), device)
        assert device.echo(b"open") == b"open"
        adagrain.speculate(model.float(), sgd(model), device).close()
        assert device.echo(b"open") == b"open"
    opened = adagrain.speculate(model, sgd(model))
    opened.close()
    with pytest.raises(ClosedError):
        opened.device.echo(b"open")


def test_buckets_may_be_given_where_gradients_may_go_without_frames() -> None:
    model = plain()
    for bypass in ("auto", "always", {3: True}):
        compression = {"bypass": bypass}
        speculation = adagrain.speculate(
            model, sgd(model), compression=compression, bucket_bytes=4096
        )
        speculation.close()


def test_frames_need_no_choice_of_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginning, "_link_of", None)
    model = plain()
    speculation = adagrain.speculate(model, sgd(model), compression={"bypass": "never"})
    for _ in range(5):
        speculation.step(lambda: model(torch.ones(8, 12)).sum())
    speculation.close()


@pytest.mark.parametrize(
    ("closures", "message"),
    [
        ([], "step must be given a closure, or several"),
        ([3], "step must be given closures, which compute a loss, not 3"),
        ([lambda: None], "a closure must return the loss, a tensor of one element"),
        ([lambda: torch.ones(2, requires_grad=True)], "a tensor of one element"),
        ([lambda: torch.ones(())], "that depends on the parameters"),
    ],
)
def test_closures_must_return_a_loss(closures: list[Any], message: str) -> None:
    model = plain()
    with pytest.raises(TypeError, match=message):
        begun(model, sgd(model)).step(*closures)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (5.0, "loss must be a tensor, not 5.0"),
        (torch.ones(2), "loss must have one element, not 2"),
        (torch.tensor(1j), "loss must be a tensor of real numbers, not of torch.complex64"),
    ],
)
def test_what_is_reported_must_be_a_loss(loss: Any, message: str) -> None:
    model = plain()
    speculation = begun(model, sgd(model))

    def closure() -> torch.Tensor:
        with pytest.raises((TypeError, ValueError), match=message):
            speculation.loss(loss)
        return model(torch.ones(8, 12)).sum()

    speculation.step(closure)
    speculation.close()


def test_a_reported_loss_may_be_an_integer() -> None:
    model = plain()
    speculation = begun(model, sgd(model))

    def closure() -> torch.Tensor:
        speculation.loss(torch.tensor(3))
        return model(torch.ones(8, 12)).sum()

    assert speculation.step(closure).item() == 3
    speculation.close()


def test_others_must_not_step() -> None:
    model = plain()
    optimizer = sgd(model)
    speculation = begun(model, optimizer)
    with pytest.raises(RuntimeError, match=r"SGD.step\(\) must not be called: step\(closure\)"):
        optimizer.step()
    speculation.close()
    optimizer.step()


def test_nothing_goes_on_behind_a_step_of_others() -> None:
    """The update in flight has been given up."""
    model = plain()
    optimizer = sgd(model)
    speculation = begun(model, optimizer)
    speculation.step(lambda: model(torch.ones(8, 12)).square().sum())
    with pytest.raises(RuntimeError, match=r"SGD.step\(\) must not be called"):
        optimizer.step()
    with pytest.raises(RuntimeError, match="must not go on after it has failed, begin again from"):
        speculation.step(lambda: model(torch.ones(8, 12)).square().sum())
    speculation.close()


def test_an_optimizer_that_keeps_something_in_its_groups() -> None:
    model = plain()
    speculation = begun(model, Kept(model.parameters(), lr=0.1), depth=0)
    with pytest.raises(TypeError, match="cannot speculate with Kept: it keeps 'taken' in its"):
        speculation.step(lambda: model(torch.ones(8, 12)).sum())


def test_sparse_gradients_are_refused() -> None:
    model = nn.Embedding(4, 2, sparse=True)
    speculation = begun(model, sgd(model))
    with pytest.raises(TypeError, match="gradients must be dense, but that of 'weight' is sparse"):
        speculation.step(lambda: model(torch.tensor([1])).sum())
