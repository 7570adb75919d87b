"""Errors that show before the workers of a run start."""

from typing import Any

import pytest
from torch import nn

import adagrain
from adagrain.host.errors import DeviceError
from adagrain.host.train import rehearsal
from adagrain.host.train.options import TrainingOptions
from adagrain.models.interface.configuration import configuration


def options(**changes: Any) -> TrainingOptions:
    return TrainingOptions(**({"name": "run", "device": "golden:"} | changes))


def test_the_network_is_that_of_the_seed() -> None:
    found = [rehearsal.rehearse(options(seed=seed)).state_dict() for seed in (3, 3, 4)]
    texts = [str(state) for state in found]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"device": "serial:/nowhere/{rank}"}, DeviceError, "must exist, not '/nowhere/0'"),
        ({"data": "/nowhere"}, OSError, "/nowhere"),
        ({"by": "columns"}, ValueError, "not 'columns'"),
        ({"timing": "guessed"}, ValueError, "timing must be .* not 'guessed'"),
        (
            {"preset": "compress", "bypass": "auto", "timing": "fixed"},
            ValueError,
            "bypass must be never or always with timing 'fixed', not 'auto'",
        ),
        ({"preset": "compress", "budget": 1}, ValueError, "budget must be at least 115 bytes"),
        ({"preset": "all", "budget": 1}, ValueError, "budget must be at least .* bytes, .* not 1"),
        ({"net": "transformer"}, ValueError, "net must be mlp or conv .*, not 'transformer'"),
        ({"batch": 100_000}, ValueError, "100000"),
        ({"cadence_max": 1 << 16, "epoch_steps": 1 << 16}, ValueError, "to 32768, not 65536"),
        (
            {"preset": "granular", "channel_groups": 99},
            ValueError,
            "channel_groups must be at most .*, not 99",
        ),
        ({"preset": "granular", "device_preset": "full"}, ValueError, "'full' has no slices"),
        (
            {"preset": "all", "mask": "learned"},
            ValueError,
            "mask must not learn from activations .* not be 'learned' with speculation",
        ),
        (
            {"preset": "all", "by": "rows:2"},
            ValueError,
            "regions must have whole parameters for speculation",
        ),
        (
            {"preset": "all", "bucket_bytes": 4096},
            ValueError,
            "bucket_bytes must be left out with compression whose bypass is 'never', .* not 4096",
        ),
        (
            {"preset": "all", "coder": "device", "device_preset": "wide"},
            ValueError,
            "encode needs a build with an encoder, which device preset 'wide' has not",
        ),
        (
            {"preset": "compress", "coder": "device", "device_preset": "granular"},
            ValueError,
            "encode needs a build with an encoder, which device preset 'granular' has not",
        ),
        (
            {
                "preset": "compress",
                "mask": "learned",
                "coder": "device",
                "network": "device",
                "device_preset": "full",
            },
            ValueError,
            "chain needs a build with a granularity unit: device preset 'full' has no slices",
        ),
        (
            {"preset": "all", "bypass": "auto", "record_run": True},
            ValueError,
            "bypass of compression must be .* where a run is recorded or replayed, not 'auto'",
        ),
    ],
)
def test_mistakes(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rehearsal.rehearse(options(**changes))


def test_a_device_with_all_units_does_all_at_once() -> None:
    rehearsal.rehearse(options(preset="all", coder="device"))


def test_the_least_budget_is_enough() -> None:
    rehearsal.rehearse(options(preset="compress", budget=115))


def test_as_many_regions_as_the_device_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    built = configuration("full", regions=4)
    layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
    monkeypatch.setattr(rehearsal, "open_device", lambda url, _: adagrain.open_device(url, built))
    monkeypatch.setattr(rehearsal, "build", lambda *_: nn.Sequential(*layers))
    rehearsal.rehearse(options(by="tensor"))
    layers.append(nn.Linear(2, 2, bias=False))
    with pytest.raises(ValueError, match="at most 4 regions on device preset 'full', not 5"):
        rehearsal.rehearse(options(by="tensor"))
