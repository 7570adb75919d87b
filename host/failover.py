"""Training must not die of its device: when it fails, the golden model takes over, loudly."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

import torch

from adagrain.models.configuration import Configuration
from adagrain.models.precision import Precision
from adagrain.models.statistics import Statistics

from .driver import Coprocessor, Info, open_device
from .errors import DeviceError
from .product import Product, Progress
from .scales import Scales

__all__ = ["Failover"]

_T = TypeVar("_T")

_log = logging.getLogger("adagrain")


class GuardedPrecisions:
    """:class:`~adagrain.host.precisions.Precisions` of the device that a guard calls with.

    Parameters
    ----------
    guard : callable
        Calls a function with the device, and once more with the one that replaces it.
    """

    def __init__(self, guard: Callable[[Callable[[Coprocessor], Any]], Any]) -> None:
        self._guard = guard

    def configure(self, records: Sequence[bytes], first: int = 0) -> None:
        """Write records."""
        self._guard(lambda device: device.precisions.configure(records, first))

    def decide(self, updates: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
        """Tell the spreads of units' inputs; the decisions."""
        return self._guard(lambda device: device.precisions.decide(updates))

    def state(self) -> list[bytes]:
        """The configured records."""
        return self._guard(lambda device: device.precisions.state())


class Failover:
    """A coprocessor that is replaced by the golden model when it fails.

    It has the methods of :class:`Coprocessor`. When one raises :class:`DeviceError`, which it does
    only after the driver's repeats, a ``golden:`` device of the same configuration is opened, the
    driver's copy of the region table restored into it, and the call made again. The
    change is logged as an error and counted in ``counters()["fallbacks"]``; results stay the
    same, since both are bit-identical.

    Parameters
    ----------
    device : Coprocessor
        The device to begin with.
    """

    def __init__(self, device: Coprocessor) -> None:
        self._device = device
        self.fallbacks = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def configuration(self) -> Configuration:
        """What the device is built with."""
        return self._device.configuration

    @property
    def backend(self) -> str:
        """What computes now."""
        return self._device.backend

    def info(self) -> Info:
        """As :meth:`Coprocessor.info`."""
        return self._guard(Coprocessor.info)

    def statistics(
        self, x: torch.Tensor, exponent: int | None = None, histogram: bool = False
    ) -> Statistics:
        """As :meth:`Coprocessor.statistics`."""
        return self._guard(lambda device: device.statistics(x, exponent, histogram))

    def matmul(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        precision: Precision | str,
        scales: Scales | None = None,
        progress: Progress = lambda done, of: None,
        *,
        to: Precision | str | None = None,
        to_scale: float = 1.0,
    ) -> Product:
        """As :meth:`Coprocessor.matmul`."""
        return self._guard(
            lambda device: device.matmul(
                a, b, precision, scales, progress, to=to, to_scale=to_scale
            )
        )

    @property
    def precisions(self) -> "GuardedPrecisions":
        """As :attr:`Coprocessor.precisions`."""
        return GuardedPrecisions(self._guard)

    def configure_regions(
        self, records: Sequence[bytes], parameters: Mapping[str, int], first: int = 0
    ) -> None:
        """As :meth:`Coprocessor.configure_regions`."""
        self._guard(lambda device: device.configure_regions(records, parameters, first))

    def update_regions(
        self,
        updates: Sequence[Mapping[str, int]],
        *,
        loss: int | None = None,
        epoch_end: bool = False,
    ) -> list[dict[str, int]]:
        """As :meth:`Coprocessor.update_regions`."""
        return self._guard(
            lambda device: device.update_regions(updates, loss=loss, epoch_end=epoch_end)
        )

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Coprocessor.state_dict`."""
        return self._device.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Coprocessor.load_state_dict`."""
        self._guard(lambda device: device.load_state_dict(state))

    def counters(self) -> dict[str, int]:
        """As :meth:`Coprocessor.counters`, with ``fallbacks``."""
        counters = self._guard(Coprocessor.counters)
        return counters | {"fallbacks": self.fallbacks}

    def close(self) -> None:
        """As :meth:`Coprocessor.close`."""
        self._device.close()

    def _guard(self, call: Callable[[Coprocessor], _T]) -> _T:
        try:
            return call(self._device)
        except DeviceError as error:
            self._replace(error)
            return call(self._device)

    def _replace(self, error: DeviceError) -> None:
        failed = self._device
        self.fallbacks += 1
        _log.error(
            "DEVICE FAILED: %s. Going on with the golden model in its place (fallback %d).",
            error,
            self.fallbacks,
        )
        state = failed.state_dict()
        failed.close()
        self._device = open_device("golden:", failed.configuration)
        self._device.load_state_dict(state)
