"""State that a device hands over for a checkpoint, and takes back."""

from typing import Any

import pytest

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.interface.protocol import PROTOCOL_VERSION
from adagrain.models.region_manager.table import default_parameters, region_record


def at_work(steps: int = 20) -> Coprocessor:
    device = adagrain.open_device("golden:", "small")
    device.configure_regions([region_record()] * 3, default_parameters(2))
    for step in range(steps):
        update = {"exponent": 120, "usable": 1, "decide": 1, "a": 1000 + step, "n": 400}
        device.update_regions([update | {"region": region} for region in range(3)], loss=step)
    return device


def decisions(device: Coprocessor) -> list[dict[str, int]]:
    update = {"region": 1, "exponent": 121, "usable": 1, "decide": 1, "a": 7, "n": 3}
    return device.update_regions([update], loss=5)


def test_another_device_goes_on_from_it() -> None:
    with at_work() as device, adagrain.open_device("golden:", "small") as other:
        other.load_state_dict(device.state_dict())
        assert other.read_regions(0, 3) == device.read_regions(0, 3)
        assert decisions(other) == decisions(device)


@pytest.mark.parametrize(
    ("change", "found"),
    [({"protocol": 3}, "3"), ({"protocol": None}, "None"), (None, "3 or older")],
)
def test_state_of_another_version_is_refused(change: dict[str, Any] | None, found: str) -> None:
    """Its records would be misread."""
    with at_work() as device:
        state = device.state_dict()
        if change is None:
            del state["protocol"]
        before = device.read_regions(0, 3)
        message = f"state must be of protocol {PROTOCOL_VERSION}, not {found}"
        with pytest.raises(ValueError, match=message):
            device.load_state_dict(state | (change or {}))
        assert device.read_regions(0, 3) == before
