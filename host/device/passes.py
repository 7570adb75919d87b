"""Passes over tensors: one at a time, or all that are due at once."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from adagrain.host.link.frame_size import FrameSize
from adagrain.host.link.session import Request, Session
from adagrain.host.link.transport.base import DirectTransport
from adagrain.models.difference import Difference, check_pair
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import format_of
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units import DIFFERENCE, STATISTICS, UNITS, Unit
from adagrain.models.statistics import EXPONENT_BIAS, Batch, Energy, Statistics, unbiased

from .arguments import integer
from .direct import direct_of
from .memory import check_readable, elements_of, words_of
from .recovery import Recovery
from .requests import histogram_requests, pass_requests

__all__ = ["Passes"]


class _Pass(NamedTuple):
    """A pass of a unit: the fields that it is announced with, and the tensor's words."""

    unit: Unit
    fields: dict[str, int]
    words: np.ndarray

    def requests(self, frame_size: FrameSize, *, data_port: bool) -> Iterator[Request]:
        """Its requests; the words too, where they do not go through the data port."""
        begin = pack(self.unit.begin.request.record, **self.fields, from_link=not data_port)
        return pass_requests(self.unit, begin, None if data_port else self.words, frame_size)


class Passes:
    """Has a device look at tensors.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    session : Session
        The session on it.
    recovery : Recovery
        Runs operations.
    """

    def __init__(
        self,
        configuration: Configuration,
        session: Session,
        recovery: Recovery,
    ) -> None:
        self._configuration = configuration
        self._session = session
        self._recovery = recovery

    def one(self, x: torch.Tensor, exponent: int | None, *, histogram: bool) -> Statistics:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.statistics`."""
        self._check_tensor(x)
        built = self._configuration
        if histogram and not built.histogram:
            raise ValueError(
                f"histogram must be False on device preset {built.preset!r}: its build has no "
                "histogram"
            )
        if exponent is None:
            exponent = unbiased(self.one(x, 0, histogram=False).largest_exponent)
        one = _pass(STATISTICS, x, _checked(exponent))
        one.fields["histogram"] = bool(histogram)
        return self._statistics(one)

    def difference(self, a: torch.Tensor, b: torch.Tensor, exponent: int | None) -> Difference:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.difference`."""
        self._check_pair(a, b)
        if exponent is None:
            exponent = unbiased(self.one(b, 0, histogram=False).largest_exponent)
        return self.differences([(a, b)], [exponent])[0]

    def differences(
        self, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]], exponents: Sequence[int]
    ) -> list[Difference]:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.differences_of`."""
        exponents = _checked_all(exponents, len(pairs), "pairs")
        for a, b in pairs:
            self._check_pair(a, b)
        elements = [(elements_of(a), elements_of(b)) for a, b in pairs]
        if direct_of(self._session) is not None:
            return self._recovery.run(lambda: self._direct.differences_of(elements, exponents))
        joined = [torch.stack(pair, dim=1) for pair in elements]
        return [*map(Difference.from_record, self._records(DIFFERENCE, joined, exponents))]

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
            wanted = " and ".join(unit.tensors)
            raise ValueError(f"tensors of {name} must be {wanted}, not {len(tensors)} of them")
        for x in tensors:
            self._check_tensor(x)
            check_pair(tensors[0], x)
        x = tensors[0] if len(tensors) == 1 else torch.stack([*map(elements_of, tensors)], dim=1)
        announced = _announced(x)
        if taken := sorted({*announced, "from_link"} & fields.keys()):
            raise ValueError(
                f"fields of {name} must be other than what the tensors say, not {', '.join(taken)}"
            )
        one = _Pass(unit, announced | dict(fields), words_of(x))
        pack(unit.begin.request.record, **one.fields)  # if they do not fit, no device is asked
        return unpack(unit.end.reply.record, self._recovery.run(lambda: self._ask(one)))

    def several(
        self, tensors: Sequence[torch.Tensor], exponents: Sequence[int]
    ) -> list[Statistics]:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.statistics_of`."""
        exponents = _checked_all(exponents, len(tensors), "tensors")
        for x in tensors:
            self._check_tensor(x)
        if direct_of(self._session) is not None:
            elements = [elements_of(x) for x in tensors]
            return self._recovery.run(lambda: self._direct.statistics_of(elements, exponents))
        return [*map(Statistics.from_record, self._records(STATISTICS, tensors, exponents))]

    def batch(self, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.batch`."""
        for x in tensors:
            self._check_tensor(x)
        elements = [elements_of(x) for x in tensors]
        pairs = zip(elements, tensors, strict=True)
        stays = all(own.data_ptr() == x.data_ptr() for own, x in pairs)
        if not stays:
            return tensors
        return Batch([x.detach() for x in elements], tensors)  # which keep the memory

    def energies(self, tensors: Sequence[torch.Tensor], exponents: Sequence[int]) -> list[Energy]:
        """As :meth:`adagrain.host.device.coprocessor.Coprocessor.energies_of`."""
        if isinstance(tensors, Batch):
            tensors.check_places()
        if direct_of(self._session) is None:
            return [Energy.of(found) for found in self.several(tensors, exponents)]
        checked = _checked_all(exponents, len(tensors), "tensors")
        batch = self._known(tensors)
        return self._recovery.run(lambda: self._direct.energies_of(batch, checked))

    def _known(self, tensors: Sequence[torch.Tensor]) -> Batch:
        """Tensors that the device can look at."""
        if isinstance(tensors, Batch):
            for dtype in tensors.types:
                self._check_type(dtype)
            return tensors
        for x in tensors:
            self._check_tensor(x)
        return Batch(elements_of(x) for x in tensors)

    @property
    def _direct(self) -> DirectTransport:
        """Within an operation on a device in this process: what is asked without frames."""
        direct = direct_of(self._session)
        assert direct is not None  # so is what takes its place
        return direct

    def _filling(self, passes: Sequence[_Pass]) -> Sequence[_Pass]:
        """The first passes, as many as fill the window: what is repeated after a reset is short."""
        commands, data_port = 0, self._session.transport.data_port
        for number, one in enumerate(passes, 1):
            in_frames = 0 if data_port else one.words.nbytes
            commands += 2 + in_frames // self._session.frame_size.payload
            if commands >= self._configuration.window:
                return passes[:number]
        return passes

    def _records(
        self, unit: Unit, tensors: Sequence[torch.Tensor], exponents: Sequence[int]
    ) -> Iterator[bytes]:
        """Records of passes of one unit, one pass behind the other, without waiting in between."""
        rows = zip(tensors, exponents, strict=True)
        passes = [_pass(unit, x, exponent) for x, exponent in rows]
        while passes:
            group = self._filling(passes)
            replies = self._recovery.run(partial(self._call, group))
            yield from filter(None, replies)  # a pass answers at its end only
            passes = passes[len(group) :]

    def _statistics(self, one: _Pass) -> Statistics:
        def run() -> tuple[bytes, bytes | None]:
            record = self._ask(one)
            if not one.fields.get("histogram"):
                return record, None
            bins = self._session.call(histogram_requests(self._session.frame_size))
            return record, b"".join(bins)

        return Statistics.from_record(*self._recovery.run(run))

    def _ask(self, one: _Pass) -> bytes:
        """Within an operation: the record of one pass."""
        return self._call([one])[-1]

    def _call(self, passes: Sequence[_Pass]) -> list[bytes]:
        """Within an operation: replies to all requests of passes that follow each other."""
        transport, frame_size = self._session.transport, self._session.frame_size
        if transport.data_port:
            words = [one.words for one in passes]
            transport.load(words[0] if len(words) == 1 else np.concatenate(words))
        return self._session.call(
            request
            for one in passes
            for request in one.requests(frame_size, data_port=transport.data_port)
        )

    def _check_pair(self, a: torch.Tensor, b: torch.Tensor) -> None:
        built = self._configuration
        if DIFFERENCE.name not in built.units:
            raise ValueError(
                "difference needs a build that has it, which device preset "
                f"{built.preset!r} has not"
            )
        self._check_tensor(a, "a")
        check_readable(b, "b")
        check_pair(a, b)

    def _check_tensor(self, x: torch.Tensor, name: str = "x") -> None:
        check_readable(x, name)
        self._check_type(x.dtype)
        if x.numel() == 0 or x.numel() >= 1 << 32:
            raise ValueError(f"tensor must have 1 to 2**32-1 elements, not {x.numel()}")

    def _check_type(self, dtype: torch.dtype) -> None:
        code, built = format_of(dtype).code, self._configuration
        if code not in built.formats:
            known = ", ".join(known.name for known in built.formats)
            raise TypeError(
                f"dtype must be one of {known} on device preset {built.preset!r}, not {code.name}"
            )


def _pass(unit: Unit, x: torch.Tensor, exponent: int, **fields: int) -> _Pass:
    """A pass of a unit over a tensor."""
    fields |= {"exponent": exponent + EXPONENT_BIAS}
    return _Pass(unit, _announced(x) | fields, words_of(x))


def _announced(x: torch.Tensor) -> dict[str, int]:
    """Announcement of any pass over a tensor."""
    return {"count": x.numel(), "format": format_of(x.dtype).code}


def _checked_all(exponents: Sequence[int], number: int, name: str) -> list[int]:
    if len(exponents) != number:
        raise ValueError(f"exponents must be as many as the {number} {name}, not {len(exponents)}")
    return [*map(_checked, exponents)]


def _checked(exponent: int) -> int:
    exponent = integer("exponent", exponent)
    if not -126 <= exponent <= 127:
        raise ValueError(f"exponent must be from -126 to 127, not {exponent}")
    return exponent
