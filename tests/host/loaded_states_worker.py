"""A worker that goes back to a state, or is given one that it must refuse."""

import sys

import torch
import torch.distributed as dist
from misuse_setup import CASES, Setup, case
from torch import nn
from user_steps_setup import refused

import adagrain
from adagrain.host.distributed.process_group import leave_group
from adagrain.models.interface.policies import CadencePolicy, SpeculationPolicy


@case
def back_from_between_backward_pass_and_step() -> None:
    """As after a loss that was bad."""
    setup = Setup(c=2)
    setup.train()
    weights = {name: own.clone() for name, own in setup.model.state_dict().items()}
    state = setup.state.state_dict()
    setup.train(2)
    wanted = [own.detach().clone() for own in setup.model.parameters()]
    setup.backward()
    setup.model.load_state_dict(weights)
    setup.state.load_state_dict(state)
    assert "but there was none since its last one" in refused(setup.optimizer.step)
    setup.train(2)
    assert all(map(torch.equal, setup.model.parameters(), wanted))


@case
def options_that_a_state_would_override() -> None:
    state = Setup().state.state_dict()
    for options, message in (
        ({"cadence": CadencePolicy.NOISE}, "cadence of the state must be NOISE, not None"),
        (
            {"policy": SpeculationPolicy.ALWAYS},
            "policy of the state must be ALWAYS, not COST_AWARE",
        ),
        ({"parameters": {"noise": 1}}, "parameters of the state must be {'noise': 1}, not {}"),
        ({"epoch_steps": 32}, "epoch_steps of the state must be 32, not 16"),
    ):
        setup = Setup(**options)
        setup.train(2)
        assert refused(lambda own=setup.state: own.load_state_dict(state)) == message
        assert setup.state.steps == 2


@case
def another_number_of_optimizers() -> None:
    """Nothing has changed then."""
    setup, model = Setup(), nn.Linear(4, 4)
    own = adagrain.speculate(model, torch.optim.SGD(model.parameters(), lr=0.1))
    states = [setup.state.state_dict(), own.state_dict()]
    setup.train(2)
    own.step(lambda: model(torch.ones(2, 4)).sum())
    for part, state in zip((setup.state, own), states, strict=True):
        for saved, count in (([], 0), (2 * state["optimizers"], 2)):
            wrong = state | {"optimizers": saved}
            message = refused(lambda part=part, wrong=wrong: part.load_state_dict(wrong))
            assert message == f"optimizers of the state must be 1, not {count}"
    assert (setup.state.steps, own.steps) == (2, 1)
    own.close()


def main() -> None:
    dist.init_process_group("gloo")
    CASES[sys.argv[1]]()
    leave_group()


if __name__ == "__main__":
    main()
