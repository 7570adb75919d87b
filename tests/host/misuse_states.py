"""States taken where none is whole, and states that do not fit."""

from contextlib import suppress
from typing import Any

import torch
from misuse_setup import Setup, case, rank
from torch import nn

from adagrain.host.distributed.lockstep import WorkerFailedError


def halves(parameters: Any) -> list[torch.optim.Optimizer]:
    first, *others = parameters
    return [torch.optim.SGD([first], lr=0.1), torch.optim.SGD(others, lr=0.1)]


@case
def state_between_two_optimizers() -> None:
    setup = Setup(make=halves)
    setup.backward()
    setup.optimizer[0].step()
    setup.state.state_dict()


@case
def state_behind_a_failed_pass() -> None:
    """Accumulators have its gradients already, of the one that fails and of the other."""
    setup = Setup(c=2)
    setup.train(1)

    def fail(*_: Any, **_options: Any) -> None:
        raise MemoryError("no memory")

    if rank() == 1:
        setup.state.device.energies_of = fail  # type: ignore[method-assign,assignment]
    with suppress(MemoryError, WorkerFailedError):
        setup.train(1)
    setup.state.state_dict()


@case
def state_behind_a_failed_sink() -> None:
    """The step is decided, but no weight has been updated."""

    def log(found: Any) -> None:
        if found.step == 1:
            raise OSError(28, "No space left on device")

    setup = Setup(log=log)
    with suppress(OSError):
        setup.train(2)
    setup.state.state_dict()


class Exhausted(torch.optim.SGD):
    """Fails in its second step."""

    steps = 0

    def step(self, closure: Any = None) -> Any:
        Exhausted.steps += 1
        if Exhausted.steps == 2:
            raise MemoryError("no memory")
        return super().step(closure)


@case
def state_behind_a_failed_step() -> None:
    setup = Setup(make=lambda parameters: Exhausted(parameters, lr=0.1))
    with suppress(MemoryError):
        setup.train(2)
    setup.state.state_dict()


def _refused(setup: Setup, change: Any) -> None:
    """Load a state that was changed: then nothing else is."""
    setup.train(2)
    state = setup.state.state_dict()
    setup.train(2)
    change(state)
    before = setup.state.state_dict()["reducer"]
    try:
        setup.state.load_state_dict(state)
    finally:
        after = setup.state.state_dict()["reducer"]
        assert before["step"] == after["step"] == 4 and before["check"] == after["check"]


@case
def state_without_accumulators() -> None:
    _refused(Setup(), lambda state: state["reducer"].pop("accumulators"))


@case
def state_of_other_accumulators() -> None:
    def change(state: Any) -> None:
        state["reducer"]["accumulators"][0] = torch.zeros(3)

    _refused(Setup(), change)


@case
def state_of_other_groups() -> None:
    def change(state: Any) -> None:
        others = [{"params": [own]} for own in nn.Linear(4, 2).parameters()]
        state["optimizers"] = [torch.optim.SGD(others, lr=0.1).state_dict()]

    _refused(Setup(), change)
