"""The network that decides on keep-tables: the golden one, or a device."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask import KeepTable
from adagrain.models.mask_network import FEATURES, MaskLayers, keep_tables

__all__ = ["Network", "NetworkDevice", "network_of"]

#: Keep-tables, bool, (regions, 64), of a network and features, int8, (regions, 9).
Network = Callable[[MaskLayers, np.ndarray], np.ndarray]


@runtime_checkable
class NetworkDevice(Protocol):
    """Decides as :func:`adagrain.models.mask_network.keep_tables` does, bit for bit.

    A :class:`~adagrain.host.device.coprocessor.Coprocessor` is one if its build has a granularity
    unit of INT8.
    """

    def keep_tables(
        self, layers: MaskLayers, seen: np.ndarray, exponents: Sequence[int]
    ) -> list[KeepTable]:
        """Keep-tables of some regions, with their exponents."""


def network_of(device: NetworkDevice, hidden: int) -> Network:
    """The network on a device, tried with a few features.

    Parameters
    ----------
    device : NetworkDevice
        The device.
    hidden : int
        Units of both hidden layers that it is to have.

    Raises
    ------
    ValueError
        If the device's build has not what it takes, or it decides otherwise than the golden
        network.
    """

    def decided(layers: MaskLayers, seen: np.ndarray) -> np.ndarray:
        found = device.keep_tables(layers, seen, [0] * len(seen))
        return np.array([own.keep for own in found], dtype=np.bool_)

    draw = np.random.default_rng(hidden)
    shapes = (len(FEATURES) + 1, hidden), (hidden + 1, hidden), (hidden + 1, BINS)
    layers = MaskLayers.of(tuple(draw.normal(size=own).astype(np.float32) for own in shapes))
    seen = draw.integers(-127, 128, (2, len(FEATURES))).astype(np.int8)
    if not np.array_equal(decided(layers, seen), keep_tables(layers, seen)):
        raise ValueError(f"network must decide as the golden one, and that on {device!r} does not")
    return decided
