"""Workers that do not do the same."""

from typing import Any

import torch
from misuse_setup import Setup, case, rank

from adagrain.models.interface.units.region_manager import SpeculationPolicy


@case
def missed_step() -> None:
    setup = Setup(c=2)
    for step in range(4):
        setup.optimizer.zero_grad()
        setup.backward()
        if (step, rank()) != (1, 1):
            setup.optimizer.step()


@case
def missed_pass() -> None:
    setup = Setup(c=2)
    for step in range(4):
        setup.backward()
        if (step, rank()) != (1, 1):
            setup.backward()
        setup.optimizer.step()
        setup.optimizer.zero_grad()


@case
def weights_differ() -> None:
    setup = Setup()
    setup.train()
    if rank() == 1:
        with torch.no_grad():
            setup.model.module[0].weight[0, 0] += 1e-6
    setup.train()


@case
def update_by_hand() -> None:
    setup = Setup()
    for _ in range(2):
        setup.backward()
        with torch.no_grad():
            for parameter in setup.model.parameters():
                parameter -= 0.1 * parameter.grad


@case
def decisions_differ() -> None:
    setup = Setup()
    honest = setup.state.device.update_regions

    def decide(updates: Any, **options: Any) -> list[dict[str, int]]:
        decisions = honest(updates, **options)
        if setup.state.reducer.step == 2:
            decisions[0]["confidence"] += rank()  # that of the other region is equal
        return decisions

    setup.state.device.update_regions = decide  # type: ignore[method-assign]
    setup.train(6)


@case
def statistics_fail_on_one() -> None:
    setup = Setup()
    setup.train()

    def fail(*_: Any, **_options: Any) -> None:
        raise KeyError("no such thing")

    if rank() == 1:
        setup.state.device.energies_of = fail  # type: ignore[method-assign,assignment]
    setup.train()


@case
def log_fails_on_one() -> None:
    def log(found: Any) -> None:
        if (found.step, rank()) == (2, 1):
            raise OSError(28, "No space left on device")

    Setup(log=log).train(5)


@case
def sink_fails_on_one() -> None:
    class Full:
        def statistics(self, event: Any) -> None:
            if (event.step, event.kind, rank()) == (2, "local", 1):
                raise OSError(28, "No space left on device")

        def step(self, log: Any) -> None:
            pass

    Setup(sinks=[Full()]).train(5)


@case
def average_fails_on_one() -> None:
    setup = Setup()
    setup.train()
    honest = setup.state.device.energies_of
    calls = []

    def fail(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyError("no such thing")
        return honest(*arguments, **options)

    if rank() == 1:
        setup.state.device.energies_of = fail  # type: ignore[method-assign,assignment]
    setup.train()


@case
def cadence_max_differs() -> None:
    Setup(cadence_max=(4, 8)[rank()])


@case
def regions_differ() -> None:
    Setup(by=("module", "tensor")[rank()])


@case
def epochs_differ() -> None:
    Setup(epoch_steps=(16, 32)[rank()])


@case
def policies_differ() -> None:
    Setup(policy=(SpeculationPolicy.COST_AWARE, SpeculationPolicy.ALWAYS)[rank()])


@case
def presets_differ() -> None:
    Setup(preset=("tiny", "small")[rank()])


@case
def rates_differ() -> None:
    Setup(make=lambda parameters: torch.optim.SGD(parameters, lr=(0.1, 0.2)[rank()]))


@case
def rates_in_tensors_differ() -> None:
    rate = torch.tensor((0.5, 0.25)[rank()])
    Setup(make=lambda parameters: torch.optim.SGD(parameters, lr=rate))


@case
def rates_of_the_first_optimizer_differ() -> None:
    def make(parameters: Any) -> list[torch.optim.Optimizer]:
        weight, *others = parameters
        return [torch.optim.SGD([weight], lr=(0.1, 0.2)[rank()]), torch.optim.SGD(others, lr=0.1)]

    Setup(make=make)


@case
def no_device_on_one() -> None:
    Setup(device=("golden:", "serial:/dev/nothing")[rank()])


@case
def unknown_option() -> None:
    Setup(cadense=4)
