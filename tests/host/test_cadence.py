"""Steps that update the regions that are due, without a distributed run."""

import copy
import math
from collections import defaultdict
from collections.abc import Mapping

import pytest
import torch
from torch import nn

from adagrain.host.distributed.cadence import OptimizerCadence, check_coverage
from adagrain.host.regions.regions import regions


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))


def backward(model: nn.Module, step: int) -> None:
    model.zero_grad()
    x = torch.randn(16, 6, generator=torch.Generator().manual_seed(step))
    model(x).square().mean().backward()


class Stepper:
    """An optimizer that steps at cadences; all regions are due at cadence 1 if not said."""

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        model: nn.Module,
        by: str = "module",
        cap: float = 0.2,
    ) -> None:
        divided = regions(model, by)
        self.optimizer = optimizer
        self._cadence = OptimizerCadence(optimizer, divided, cap=cap)
        self._all = dict.fromkeys(range(len(divided)), 1)

    def step(self, due: Mapping[int, int] | None = None) -> None:
        stand_in = self._cadence.stand_in()
        self._cadence.fill(stand_in, self._all if due is None else due)
        stand_in.step()
        self._cadence.keep(stand_in)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5),
}


@pytest.mark.parametrize("by", ["module", "tensor", "rows:4"])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_all_due_equals_the_plain_optimizer(kind: str, by: str) -> None:
    plain, model = network(), network()
    reference = OPTIMIZERS[kind](plain.parameters())
    stepper = Stepper(OPTIMIZERS[kind](model.parameters()), model, by)
    for step in range(5):
        backward(plain, step)
        reference.step()
        backward(model, step)
        stepper.step()
    for a, b in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert (by == "rows:4") == (
        repr(reference.state_dict()) != repr(stepper.optimizer.state_dict())
    )


def test_only_due_regions_change() -> None:
    model = network()
    stepper = Stepper(torch.optim.SGD(model.parameters(), lr=0.1), model, "rows:2")
    before = copy.deepcopy(model.state_dict())
    backward(model, 0)
    stepper.step({1: 1})  # the lower half of the first matrix
    after = model.state_dict()
    assert torch.equal(before["0.weight"][:4], after["0.weight"][:4])
    assert not torch.equal(before["0.weight"][4:], after["0.weight"][4:])
    assert torch.equal(before["2.weight"], after["2.weight"])


@pytest.mark.parametrize(("cadence", "cap", "factor"), [(4, 0.2, 2), (4, 1.0, 4), (4, 0.05, 1)])
def test_the_rate_follows_the_cadence_up_to_the_cap(
    cadence: int, cap: float, factor: float
) -> None:
    model, reference = network(), network()
    stepper = Stepper(torch.optim.SGD(model.parameters(), lr=0.1), model, cap=cap)
    plain = torch.optim.SGD(reference.parameters(), lr=0.1 * factor)
    backward(model, 0)
    backward(reference, 0)
    stepper.step({0: cadence, 1: cadence})
    plain.step()
    for a, b in zip(model.parameters(), reference.parameters(), strict=True):
        assert torch.equal(a, b)
    assert stepper.optimizer.param_groups[0]["lr"] == 0.1


def test_each_region_has_the_rate_of_its_own_cadence() -> None:
    model, reference = network(), network()
    stepper = Stepper(torch.optim.SGD(model.parameters(), lr=0.05), model, cap=0.2)
    plain = torch.optim.SGD(
        [{"params": reference[0].parameters(), "lr": 0.1}, {"params": reference[2].parameters()}],
        lr=0.2,
    )
    backward(model, 0)
    backward(reference, 0)
    stepper.step({0: 2, 1: 4})
    plain.step()
    for a, b in zip(model.parameters(), reference.parameters(), strict=True):
        assert torch.equal(a, b)


def test_adam_counts_the_steps_of_each_block() -> None:
    model = network()
    stepper = Stepper(torch.optim.Adam(model.parameters(), lr=0.01), model, "rows:2")
    for step, due in enumerate([{0: 1}, {0: 1, 1: 1}, {0: 1}]):
        backward(model, step)
        stepper.step(due)
    (state,) = stepper.optimizer.state.values()
    assert [int(block["step"]) for block in state["blocks"]] == [3, 1]


@pytest.mark.parametrize("by", ["module", "rows:4"])
def test_state_survives_in_the_optimizers_own_state_dict(by: str) -> None:
    def run(model: nn.Module, stepper: Stepper, steps: range) -> None:
        for step in steps:
            backward(model, step)
            stepper.step()

    whole = network()
    first = Stepper(torch.optim.Adam(whole.parameters(), lr=0.01), whole, by)
    run(whole, first, range(3))
    state = copy.deepcopy((whole.state_dict(), first.optimizer.state_dict()))
    run(whole, first, range(3, 6))
    resumed = network()
    second = Stepper(torch.optim.Adam(resumed.parameters(), lr=0.5), resumed, by)
    resumed.load_state_dict(state[0])
    second.optimizer.load_state_dict(state[1])
    run(resumed, second, range(3, 6))
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    ("saved", "loaded", "message"),
    [
        (
            "rows:4",
            "rows:2",
            r"'0.weight\[0:4\]' must be that of 2 blocks of rows, not of 4: it was",
        ),
        ("rows:2", "module", "'0.weight' must be that of 1 blocks of rows, not of 2"),
        ("module", "rows:2", r"'0.weight\[0:4\]' must be that of 2 blocks of rows, not of 1"),
    ],
)
def test_state_of_other_regions(saved: str, loaded: str, message: str) -> None:
    model = network()
    first = Stepper(torch.optim.Adam(model.parameters()), model, saved)
    backward(model, 0)
    first.step()
    second = Stepper(torch.optim.Adam(model.parameters()), model, loaded)
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    with pytest.raises(ValueError, match=message):
        second.step()


def test_groups_are_the_users_own_while_and_after_a_step() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    groups = optimizer.param_groups
    stepper = Stepper(optimizer, model)
    backward(model, 0)
    stepper.step({})
    stepper.step({0: 2})
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups is groups
    assert groups[0]["lr"] == 0.05
    assert len(groups[0]["params"]) == 4


def test_groups_and_parameters_that_come_later() -> None:
    model, extra = network(), nn.Parameter(torch.ones(2))
    stepper = Stepper(torch.optim.SGD(model[0].parameters(), lr=0.1), model)
    stepper.optimizer.add_param_group({"params": model[2].parameters(), "lr": 0.2})
    stepper.optimizer.add_param_group({"params": [extra], "lr": 1.0})
    before = copy.deepcopy(model.state_dict())
    backward(model, 0)
    extra.grad = torch.ones(2)
    stepper.step({1: 1})
    assert torch.equal(before["0.weight"], model[0].weight)
    assert torch.equal(before["2.weight"] - 0.2 * model[2].weight.grad, model[2].weight)
    assert torch.equal(extra, torch.zeros(2))  # in no region: in every step


class Counting(torch.optim.Optimizer):
    """Keeps a number in its groups and one of its own, as some optimizers do."""

    def __init__(self, parameters: object) -> None:
        super().__init__(parameters, {"lr": 0.1, "k": 0})
        self.steps = 0

    def step(self, closure: None = None) -> None:
        self.steps += 1
        for group in self.param_groups:
            group["k"] += len(group["params"])


def test_what_an_optimizer_writes_into_its_groups_is_kept() -> None:
    model = network()
    stepper = Stepper(Counting(model.parameters()), model)
    for due in ({0: 1, 1: 1}, {}, {1: 4}):
        stepper.step(due)
    assert stepper.optimizer.steps == 3
    assert stepper.optimizer.param_groups[0]["k"] == 6


class Restarting(torch.optim.SGD):
    """Forgets its momenta in each second step."""

    def step(self, closure: None = None) -> None:
        if self.state and len(next(iter(self.state.values()))) > 1:
            self.state = defaultdict(dict)
        super().step()
        for own in self.state.values():
            own[f"step {len(own)}"] = True


@pytest.mark.parametrize("due", [None, {0: 1}, {0: 1, 1: 2}])
def test_a_state_that_an_optimizer_replaces_is_kept(due: Mapping[int, int] | None) -> None:
    plain, model = network(), network()
    parameters = (plain[0].parameters(), plain[2].parameters())
    own = [Restarting(p, lr=0.05, momentum=0.9) for p in parameters]
    stepper = Stepper(Restarting(model.parameters(), lr=0.05, momentum=0.9), model, cap=0.05)
    for step in range(4):
        backward(plain, step)
        for optimizer in own[: 2 if due is None else len(due)]:
            optimizer.step()
        backward(model, step)
        stepper.step(due)
    for a, b in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert {id(p) for p in stepper.optimizer.state} <= {id(p) for p in model.parameters()}


def test_what_differs_between_regions_cannot_be_kept() -> None:
    model = network()
    stepper = Stepper(Counting([*model[0].parameters(), model[2].weight]), model)
    with pytest.raises(TypeError, match="Counting keeps k in its parameter groups, which differs"):
        stepper.step({0: 1, 1: 2})


def test_refusals() -> None:
    model = network()
    with pytest.raises(TypeError, match="does not work with LBFGS: it evaluates the loss several"):
        Stepper(torch.optim.LBFGS(model.parameters()), model)

    class Muon(torch.optim.SGD):
        pass

    with pytest.raises(TypeError, match="does not work with Muon where regions are blocks of row"):
        Stepper(Muon(model.parameters(), lr=0.1), model, "rows:2")
    for cap, kind in ((0, ValueError), (math.nan, ValueError), (True, TypeError), ("1", TypeError)):
        with pytest.raises(kind, match=f"cap must be a positive number, not {cap!r}"):
            Stepper(torch.optim.SGD(model.parameters(), lr=0.1), model, cap=cap)


def test_each_parameter_is_in_one_optimizer() -> None:
    model = network()
    names = dict(model.named_parameters())
    first = torch.optim.SGD(model[0].parameters(), lr=0.1)
    rest = torch.optim.SGD(model[2].parameters(), lr=0.1)
    check_coverage([first, rest], names)
    with pytest.raises(ValueError, match=r"'2\.weight' must be in the optimizer, but is not"):
        check_coverage([first], names)
    with pytest.raises(ValueError, match=r"'0\.weight' must be in one of .*, but is in 2"):
        check_coverage([first, rest, first], names)
