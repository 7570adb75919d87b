"""What a granularity is given, or restored from, that is of another kind or another network."""

import pytest
import torch
from granular_networks import network
from torch import nn

from adagrain.host.granular import Granularity, Policy, convert


@pytest.mark.parametrize("offload", [2.5, True, "16"])
def test_offload_is_a_number_of_steps(offload: object) -> None:
    with pytest.raises(TypeError, match=f"offload must be an integer, not {offload!r}"):
        Granularity(convert(network()), offload=offload)  # type: ignore[arg-type]


def test_the_state_of_another_number_of_layers() -> None:
    with Granularity(convert(network())) as granularity:
        state = granularity.state_dict()
    with Granularity(convert(nn.Linear(12, 8))) as granularity:
        with pytest.raises(ValueError, match="state must be of 1 layers, not of 2"):
            granularity.load_state_dict(state | {"steps": 3})
        assert granularity.state_dict()["steps"] == 0


def test_a_state_without_a_part() -> None:
    with Granularity(convert(network())) as granularity:
        state = granularity.state_dict()
        del state["switches"]
        with pytest.raises(ValueError, match="there is no 'switches'"):
            granularity.load_state_dict(state)


def test_the_state_of_controllers_of_another_width() -> None:
    controllers = convert(nn.Linear(12, 8), Policy(channel_groups=2)).controllers
    state = controllers.get_extra_state()
    width = state.shape[1]
    message = rf"shape \(2, {width}\), not \(2, {width - 1}\)"
    with pytest.raises(ValueError, match=message):
        controllers.set_extra_state(torch.empty_like(state[:, 1:]))
