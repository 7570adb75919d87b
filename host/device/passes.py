"""Passes of ``statistics``: one tensor at a time, or all that are due at once."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from adagrain.host.link.session import Request, Session
from adagrain.host.link.transport.base import DirectTransport, Transport
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import format_of
from adagrain.models.interface.records import pack
from adagrain.models.interface.units.statistics import StatisticsBegin
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
            begin = self._begin(x, 0)
            exponent = unbiased(self._run(begin, words).largest_exponent)
        return self._run(self._begin(x, exponent, histogram=histogram), words, histogram=histogram)

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
        passes = [_Pass(self._begin(x, exponent), words_of(x)) for x, exponent in rows]
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
                yield from pass_requests(one.begin, None if data_port else one.words, frame_size)

        records = filter(None, self._session.call(requests()))  # a pass answers at its end only
        return [Statistics.from_record(record) for record in records]

    def _run(self, begin: bytes, words: np.ndarray, *, histogram: bool = False) -> Statistics:
        frame_size, data_port = self._session.frame_size, self._transport.data_port

        def run() -> tuple[bytes, bytes | None]:
            if data_port:
                self._transport.load(words)
            *_, record = self._session.call(
                pass_requests(begin, None if data_port else words, frame_size)
            )
            if not histogram:
                return record, None
            return record, b"".join(self._session.call(histogram_requests(frame_size)))

        return Statistics.from_record(*self._recovery.run(run))

    def _begin(self, x: torch.Tensor, exponent: int, *, histogram: bool = False) -> bytes:
        return pack(
            StatisticsBegin,
            count=x.numel(),
            format=format_of(x.dtype).code,
            exponent=exponent + EXPONENT_BIAS,
            histogram=bool(histogram),
            from_link=not self._transport.data_port,
        )

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
