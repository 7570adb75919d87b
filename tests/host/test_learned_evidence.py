"""What the learned mask decides by: activations, and what energy is worth."""

import numpy as np
import pytest
import torch
from layouts import layout_of
from torch import nn

from adagrain.host.compression.learned.activations import Activations, owners_of
from adagrain.host.compression.learned.worth import Worth
from adagrain.models.mask_network import activation_features
from adagrain.models.statistics import statistics


class Pair(nn.Module):
    """A module whose output begins with a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((1,), 2.0))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        return self.weight * x, None


def test_activations_are_those_of_the_modules_that_own_parameters() -> None:
    torch.manual_seed(1)
    first, pair, late = nn.Linear(6, 9), Pair(), nn.Linear(9, 3)
    model = nn.ModuleList([first, pair, late])
    parameters = [*model.parameters()]
    owners = owners_of(model, parameters)
    assert owners == [first, first, pair, late, late]
    watched = Activations(owners)
    x = torch.randn(5000, 6)
    with torch.no_grad():
        first(x)
    assert watched.features() == {}
    hidden = first(x)
    pair(hidden.half())
    found = watched.features()
    sample = hidden.detach().flatten()[:: -(-45_000 // 4096)]
    assert found[0] == found[1] == activation_features(statistics(sample, None))
    assert set(found) == {0, 1, 2} and found[2] != found[0]
    assert watched.features() == {}
    watched.wanted = False
    first(x)
    assert watched.features() == {}


def test_of_several_calls_of_a_module_the_last_one_counts() -> None:
    torch.manual_seed(1)
    layer = nn.Linear(3, 2)
    watched, first, second = Activations([layer]), torch.zeros(4, 3), torch.randn(4, 3)
    found = []
    for inputs in ([first], [second], [first, second]):
        for x in inputs:
            layer(x)
        found.append(watched.features())
    assert found[0] != found[1] == found[2]


def test_energy_is_worth_what_the_workers_agree_on(seed: int) -> None:
    """One share, one bin: all elements have a magnitude of 1, and half of them the right sign."""
    layout, worth = layout_of(64), Worth(2, 16)
    v = torch.ones(64)
    average = torch.cat([torch.ones(48), -torch.ones(16)]) * 0.5
    assert (worth.of([(0, 0)]) == 1).all() and worth.sample() is None
    worth.look(0, layout, v)
    worth.values(layout, v)
    assert worth.sample().tolist() == v.tolist()
    worth.probed(average, {(0, 0): 127})
    assert worth.sample() is None
    assert worth.of([(0, 0)])[0] == pytest.approx(np.full(64, 0.25))
    worth.look(1, layout, v)
    assert worth.sample() is None
    worth.look(2, layout, v)
    worth.values(layout, v)
    worth.probed(-average, {(0, 0): 127})
    assert (worth.of([(0, 0)]) == 0).all()


def test_regions_weigh_what_the_loss_still_falls() -> None:
    layout, worth = layout_of(100, 100), Worth(8, 1)
    applied = torch.where(torch.arange(200) % 5 == 0, 2.0, 0.0)
    worth.applied(0, layout, applied)
    worth.look(1, layout, torch.cat([torch.full((100,), 1.5), torch.full((100,), 0.5)]))
    assert worth.of([(0, 0), (1, 0)])[:, 3].tolist() == [1.5, 0.5]
    worth.applied(8, layout, applied)
    worth.look(9, layout, torch.cat([torch.full((100,), 9.0), torch.full((100,), -9.0)]))
    assert worth.of([(0, 0), (1, 0)])[:, 3].tolist() == [4.0, 0.25]
    worth.applied(16, layout, applied)
    worth.forget()
    worth.applied(9, layout, applied)
    assert not worth.state_dict()["applied"]


def test_probes_go_through_all_places_of_a_share() -> None:
    layout, worth = layout_of(256), Worth(2, 4)
    met: list[float] = []
    for number in range(0, 8, 2):
        worth.look(number, layout, torch.arange(256.0))
        sample = worth.sample()
        assert sample is not None and len(sample) == 64
        met += sample.tolist()
        worth.probed(sample, {})
    assert sorted(met) == [*range(256)]


def test_bins_of_few_elements_lean_on_their_region() -> None:
    """As if each had eight more, which are worth what the region's energy is on average."""
    layout, worth = layout_of(108), Worth(1, 1)
    v = torch.cat([torch.ones(8), torch.full((100,), 0.25)])
    worth.look(0, layout, v)
    worth.values(layout, v)
    worth.probed(torch.cat([v[:8], 0.5 * v[8:]]), {(0, 0): 127})
    average = (8 + 0.5 * 6.25) / (8 + 6.25)
    found = worth.of([(0, 0)])[0]
    assert found[1] == pytest.approx((8 * 1.0 + 8 * average) / 16)
    assert found[5] == pytest.approx((100 * 0.5 + 8 * average) / 108)
    assert found[0] == pytest.approx(average)
