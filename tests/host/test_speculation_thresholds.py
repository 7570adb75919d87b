"""Thresholds of ``cost_aware`` in speculation follow the optimizers; those that are given stay."""

from typing import Any

import pytest
import torch
from speculation_setup import begun, plain
from torch import nn

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.speculation.thresholds import momentum_of
from adagrain.models.region_manager.settings import speculation_thresholds

pytestmark = pytest.mark.usefixtures("lone_worker")


def optimizers(model: nn.Module) -> dict[str, tuple[list[torch.optim.Optimizer], float]]:
    first, second = ([*layer.parameters()] for layer in (model[0], model[-1]))  # type: ignore[index]
    both = [{"params": first, "momentum": 0.9}, {"params": second, "momentum": 0.5}]
    return {
        "sgd": ([torch.optim.SGD(model.parameters(), lr=0.1)], 0.0),
        "groups": ([torch.optim.SGD(both, lr=0.1)], 0.5),
        "adamw": ([torch.optim.AdamW(model.parameters(), betas=(0.8, 0.99))], 0.8),
        "several": ([torch.optim.SGD(first, 0.1, 0.9), torch.optim.AdamW(second)], 0.9),
        "adagrad": ([torch.optim.Adagrad(model.parameters())], 0.0),
    }


@pytest.mark.parametrize("name", optimizers(plain()))
def test_the_least_momentum_counts(name: str) -> None:
    given, momentum = optimizers(plain())[name]
    assert momentum_of(given) == momentum


@pytest.mark.parametrize("given", [{}, {"t1": 12345, "dwell": 3}])
def test_the_device_gets_them(given: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Any] = {}
    real = Coprocessor.configure_regions

    def configure(self: Coprocessor, records: Any, parameters: Any) -> None:
        found.update(parameters)
        real(self, records, parameters)

    monkeypatch.setattr(Coprocessor, "configure_regions", configure)
    model = plain()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.6)
    begun(model, optimizer, tau=0.4, parameters=given).close()
    assert found.items() >= {**speculation_thresholds(0.4, 0.6), **given}.items()
