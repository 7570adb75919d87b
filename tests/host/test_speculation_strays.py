"""A parameter that no module's call uses, where a guess is rejected before that is known."""

import pytest
import torch
from speculation_setup import begun, sgd
from torch import nn

from adagrain.host.distributed.exchange import DenseExchange

pytestmark = pytest.mark.usefixtures("lone_worker")

#: Looks until an update arrives, by bucket as they depart: ``b`` arrives in front of ``c``'s call.
LOOKS = {"c": 10**9, "b": 2, "places": 10**9, "a": 0}


class Placed(nn.Module):
    """Adds a weight of a module that is never called."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.places = nn.Linear(12, 8), nn.Embedding(1, 8)
        self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        placed = torch.tanh(self.a(x)) + self.places.weight
        return self.c(torch.tanh(self.b(placed)))


def trained(monkeypatch: pytest.MonkeyPatch, depth: int) -> tuple[list[torch.Tensor], int]:
    """Weights after four steps in which averages are not what has been contributed; redone."""
    real, looks = DenseExchange.begin, iter([*LOOKS.values()] * 4)
    with monkeypatch.context() as patch:
        patch.setattr(
            DenseExchange,
            "begin",
            lambda own, shares, *flat: real(own, [s._replace(mean=s.mean * 2) for s in shares]),
        )
        torch.manual_seed(2)
        model = Placed()
        speculation = begun(model, sgd(model), tau=0, depth=depth, looks=lambda: next(looks))
        for step in range(4):
            x = torch.randn(8, 12, generator=torch.Generator().manual_seed(step))
            speculation.step(lambda x=x: model(x).square().mean())
        speculation.settle()
        redone = speculation.passes_redone
        speculation.close()
    return [own.detach().clone() for own in model.parameters()], redone


def test_its_pass_is_done_again_whole(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wanted, _ = trained(monkeypatch, 0)
    found, redone = trained(monkeypatch, 1)
    assert redone >= 3
    assert all(torch.equal(own, other) for own, other in zip(wanted, found, strict=True))
    assert "parameters are used outside of modules' calls ('places.weight')" in caplog.text
