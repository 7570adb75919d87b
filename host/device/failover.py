"""Training must not die of its device: when it fails, the golden model takes over, loudly."""

import functools
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from adagrain.host.errors import ClosedError, DeviceError
from adagrain.models.interface.configuration import Configuration

from .coprocessor import Coprocessor
from .open_device import open_device
from .precisions import Precisions

__all__ = ["Failover", "GuardedPrecisions"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_log = logging.getLogger("adagrain")

#: Calls a function with the device, and once more with the one that replaces it.
_Guard = Callable[[Callable[[Coprocessor], Any]], Any]


def _guarded(
    method: Callable[Concatenate[Coprocessor, _P], _T],
) -> Callable[Concatenate["Failover", _P], _T]:
    """The same method of a :class:`Failover`."""

    @functools.wraps(method)
    def call(self: "Failover", *arguments: _P.args, **options: _P.kwargs) -> _T:
        return self._guard(lambda device: getattr(device, method.__name__)(*arguments, **options))

    return call


def _guarded_precisions(
    method: Callable[Concatenate[Precisions, _P], _T],
) -> Callable[Concatenate["GuardedPrecisions", _P], _T]:
    """The same method of a :class:`GuardedPrecisions`."""

    @functools.wraps(method)
    def call(self: "GuardedPrecisions", *arguments: _P.args, **options: _P.kwargs) -> _T:
        name = method.__name__
        return self._guard(lambda device: getattr(device.precisions, name)(*arguments, **options))

    return call


class GuardedPrecisions:
    """:class:`~adagrain.host.device.precisions.Precisions` of the device that a guard calls."""

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard

    configure = _guarded_precisions(Precisions.configure)
    decide = _guarded_precisions(Precisions.decide)
    read = _guarded_precisions(Precisions.read)
    state = _guarded_precisions(Precisions.state)


class Failover:
    """A coprocessor that is replaced by the golden model when it fails.

    It has the methods of :class:`Coprocessor`. When one raises :class:`DeviceError`, which it does
    only after the driver's repeats, a ``golden:`` device of the same configuration is opened, the
    driver's copy of the region table restored into it, and the call made again. So it is where a
    transport raises anything else, unless the golden model refuses the same call: then its
    arguments were at fault. The change is logged as an error and counted in
    ``counters()["fallbacks"]``; results stay the same, since both are bit-identical.

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

    @property
    def url(self) -> str:
        """That of the device which computes now."""
        return self._device.url

    @property
    def precisions(self) -> GuardedPrecisions:
        """As those of the device."""
        return GuardedPrecisions(self._guard)

    info = _guarded(Coprocessor.info)
    statistics = _guarded(Coprocessor.statistics)
    statistics_of = _guarded(Coprocessor.statistics_of)
    difference = _guarded(Coprocessor.difference)
    run_pass = _guarded(Coprocessor.run_pass)
    matmul = _guarded(Coprocessor.matmul)
    configure_regions = _guarded(Coprocessor.configure_regions)
    update_regions = _guarded(Coprocessor.update_regions)
    read_regions = _guarded(Coprocessor.read_regions)
    read_table = _guarded(Coprocessor.read_table)
    echo = _guarded(Coprocessor.echo)
    selftest = _guarded(Coprocessor.selftest)
    state_dict = _guarded(Coprocessor.state_dict)
    load_state_dict = _guarded(Coprocessor.load_state_dict)

    def counters(self) -> dict[str, int]:
        """As :meth:`Coprocessor.counters`, with ``fallbacks``."""
        counters = self._guard(lambda device: device.counters())
        return counters | {"fallbacks": self.fallbacks}

    def close(self) -> None:
        """As :meth:`Coprocessor.close`."""
        self._device.close()

    def _guard(self, call: Callable[[Coprocessor], _T]) -> _T:
        try:
            return call(self._device)
        except ClosedError:
            raise
        except Exception as error:
            return self._again(call, error)

    def _again(self, call: Callable[[Coprocessor], _T], error: Exception) -> _T:
        """Make a call with the golden model, which stays if the device was at fault."""
        golden = open_device("golden:", self._device.configuration)
        golden.load_state_dict(self._device.state_dict())
        if isinstance(error, DeviceError):
            self._replace(golden, error)
            return call(golden)
        try:
            result = call(golden)
        except Exception:
            golden.close()
            raise error from None
        self._replace(golden, error)
        return result

    def _replace(self, golden: Coprocessor, error: Exception) -> None:
        self.fallbacks += 1
        reason = (
            str(error) if isinstance(error, DeviceError) else f"{type(error).__name__}: {error}"
        )
        _log.error(
            "DEVICE FAILED: %s. Going on with the golden model in its place (fallback %d).",
            reason,
            self.fallbacks,
        )
        failed, self._device = self._device, golden
        with suppress(Exception):  # it may be beyond letting go of
            failed.close()
