"""Passes over tensors: one at a time, or all that are due at once."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from adagrain.host.link.session import Request, Session
from adagrain.host.link.transport.base import DirectTransport, Transport
from adagrain.models.difference import Difference, check_pair
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import format_of
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units import DIFFERENCE, STATISTICS, UNITS, Unit
from adagrain.models.statistics import EXPONENT_BIAS, Statistics, unbiased

from .arguments import integer
from .memory import check_readable, elements_of, words_of
from .recovery import Recovery
from .requests import histogram_requests, pass_requests

__all__ = ["Passes"]


class _Pass(NamedTuple):
    """What a pass is announced with, and the tensor's words."""

    begin: bytes
    words: np.ndarray


class Passes:
    """Has a device look at tensors.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    transport : Transport
        Way to the device.
    session : Session
        The session on it.
    recovery : Recovery
        Runs operations.
    """

    def __init__(
        self,
        configuration: Configuration,
        transport: Transport,
        session: Session,
        recovery: Recovery,
    ) -> None:
        self._configuration = configuration
        self._transport = transport
        self._session = session
        self._recovery = recovery
        self._direct: DirectTransport | None = None
        if isinstance(transport, DirectTransport) and transport.direct:
            self._direct = transport

    def one(self, x: torch.Tensor, exponent: int | None, *, histogram: bool) -> Statistics:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.statistics`."""
        self._check_tensor(x)
        built = self._configuration
        if histogram and not built.histogram:
            raise ValueError(
                f"histogram must be False on preset {built.preset!r}: its build has no histogram"
            )
        if exponent is not None:
            exponent = _checked(exponent)
        words = words_of(x)
        if exponent is None:
            begin = self._begin(STATISTICS, x, 0)
            exponent = unbiased(self._statistics(begin, words).largest_exponent)
        begin = self._begin(STATISTICS, x, exponent, histogram=bool(histogram))
        return self._statistics(begin, words, histogram=histogram)

    def difference(self, a: torch.Tensor, b: torch.Tensor, exponent: int | None) -> Difference:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.difference`."""
        built = self._configuration
        if DIFFERENCE.name not in built.units:
            raise ValueError(
                f"difference needs a build that has it, which preset {built.preset!r} has not"
            )
        self._check_tensor(a)
        self._check_tensor(b)
        check_pair(a, b)
        if exponent is None:
            exponent = unbiased(self.one(b, 0, histogram=False).largest_exponent)
        pairs = torch.stack([elements_of(a), elements_of(b)], dim=1)
        begin = self._begin(DIFFERENCE, pairs, _checked(exponent))
        (record,) = self._recovery.run(lambda: self._ask(DIFFERENCE, begin, words_of(pairs)))
        return Difference.from_record(record)

    def run(
        self, name: str, tensors: Sequence[torch.Tensor], fields: Mapping[str, int]
    ) -> dict[str, int]:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.run_pass`."""
        built = self._configuration
        known = [unit.name for unit in built.built() if unit.passes]
        if name not in known:
            raise ValueError(f"unit must be one of {', '.join(known)}, not {name!r}")
        unit = UNITS[name]
        if len(tensors) != len(unit.tensors):
            raise ValueError(
                f"tensors of {name} must be {' and '.join(unit.tensors)}, not {len(tensors)}"
            )
        for x in tensors:
            self._check_tensor(x)
            check_pair(tensors[0], x)
        x = tensors[0] if len(tensors) == 1 else torch.stack([*map(elements_of, tensors)], dim=1)
        begin = pack(unit.begin.request.record, **self._announced(x), **fields)
        (record,) = self._recovery.run(lambda: self._ask(unit, begin, words_of(x)))
        return unpack(unit.end.reply.record, record)

    def several(
        self, tensors: Sequence[torch.Tensor], exponents: Sequence[int]
    ) -> list[Statistics]:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.statistics_of`."""
        if len(exponents) != len(tensors):
            raise ValueError(
                f"exponents must be as many as the {len(tensors)} tensors, not {len(exponents)}"
            )
        for x in tensors:
            self._check_tensor(x)
        exponents = [_checked(exponent) for exponent in exponents]
        if self._direct:
            with self._recovery:
                return self._direct.statistics_of([elements_of(x) for x in tensors], exponents)
        rows = zip(tensors, exponents, strict=True)
        passes = [_Pass(self._begin(STATISTICS, x, exponent), words_of(x)) for x, exponent in rows]
        found: list[Statistics] = []
        while rest := passes[len(found) :]:
            group = self._filling(rest)
            found += self._recovery.run(partial(self._pipelined, group))
        return found

    def _filling(self, passes: Sequence[_Pass]) -> Sequence[_Pass]:
        """The first passes, as many as fill the window: what is repeated after a reset is short."""
        commands = 0
        for number, one in enumerate(passes, 1):
            in_frames = 0 if self._transport.data_port else one.words.nbytes
            commands += 2 + in_frames // self._session.frame_size.payload
            if commands >= self._configuration.window:
                return passes[:number]
        return passes

    def _pipelined(self, passes: Sequence[_Pass]) -> list[Statistics]:
        """Within an operation: one pass behind the other, without waiting in between."""
        frame_size, data_port = self._session.frame_size, self._transport.data_port
        if data_port:
            self._transport.load(np.concatenate([one.words for one in passes]))

        def requests() -> Iterator[Request]:
            for one in passes:
                words = None if data_port else one.words
                yield from pass_requests(STATISTICS, one.begin, words, frame_size)

        records = filter(None, self._session.call(requests()))  # a pass answers at its end only
        return [Statistics.from_record(record) for record in records]

    def _statistics(
        self, begin: bytes, words: np.ndarray, *, histogram: bool = False
    ) -> Statistics:
        def run() -> tuple[bytes, bytes | None]:
            (record,) = self._ask(STATISTICS, begin, words)
            if not histogram:
                return record, None
            bins = self._session.call(histogram_requests(self._session.frame_size))
            return record, b"".join(bins)

        return Statistics.from_record(*self._recovery.run(run))

    def _ask(self, unit: Unit, begin: bytes, words: np.ndarray) -> list[bytes]:
        """Within an operation: one pass of a unit; its record alone."""
        data_port = self._transport.data_port
        if data_port:
            self._transport.load(words)
        in_frames = None if data_port else words
        requests = pass_requests(unit, begin, in_frames, self._session.frame_size)
        return self._session.call(requests)[-1:]

    def _begin(self, unit: Unit, x: torch.Tensor, exponent: int, **fields: int) -> bytes:
        """The record that begins a pass of a unit over a tensor."""
        fields |= {"exponent": exponent + EXPONENT_BIAS}
        return pack(unit.begin.request.record, **self._announced(x), **fields)

    def _announced(self, x: torch.Tensor) -> dict[str, int]:
        """The fields of any record that begins a pass over a tensor."""
        return {
            "count": x.numel(),
            "format": format_of(x.dtype).code,
            "from_link": not self._transport.data_port,
        }

    def _check_tensor(self, x: torch.Tensor) -> None:
        check_readable(x)
        code, built = format_of(x.dtype).code, self._configuration
        if code not in built.formats:
            known = ", ".join(known.name for known in built.formats)
            raise TypeError(
                f"dtype must be one of {known} on preset {built.preset!r}, not {code.name}"
            )
        if x.numel() == 0 or x.numel() >= 1 << 32:
            raise ValueError(f"tensor must have 1 to 2**32-1 elements, not {x.numel()}")


def _checked(exponent: int) -> int:
    exponent = integer("exponent", exponent)
    if not -126 <= exponent <= 127:
        raise ValueError(f"exponent must be from -126 to 127, not {exponent}")
    return exponent
