"""Counts of devices, over the parts of a run and over devices that failed."""

import torch
from transports import DyingTransport

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.train.counts import Counts
from adagrain.models.interface.configuration import configuration

TINY = configuration("tiny")
X = torch.ones(10)


def device(answers: int) -> Coprocessor:
    """A device that answers so often."""
    transport = DyingTransport(TINY, answers=answers)
    made = Coprocessor(transport, TINY, url="dying:", timeout=0.01, retries=0)
    made.replaceable = True
    return made


def test_parts_of_a_run_add_up() -> None:
    whole = Counts(device(1000))
    for _ in range(5):
        whole._device.statistics(X, 0)
    first = Counts(device(1000))
    for _ in range(2):
        first._device.statistics(X, 0)
    saved = first.read()
    second = Counts(device(1000))
    second._device.statistics(X, 0)  # as restoring might
    second.resume(saved)
    for _ in range(3):
        second._device.statistics(X, 0)
        assert second.read() == second.read()
    assert second.read() == whole.read()
    assert whole.read()["elements"] == 50


def test_devices_that_failed_are_not_forgotten() -> None:
    counts = Counts(device(12))
    for _ in range(20):
        counts._device.statistics(X, 0)
        found = counts.read()
    assert found["fallbacks"] == 1
    assert 20 * 10 - 10 <= found["elements"] <= 20 * 10
    after = Counts(adagrain.open_device("golden:", TINY))
    after.resume(found)
    after._device.statistics(X, 0)
    assert after.read()["fallbacks"] == 1
    assert after.read()["elements"] == found["elements"] + 10
