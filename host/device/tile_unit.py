"""The granularity unit of a device: operands there, results back."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from adagrain.host.errors import DeviceError
from adagrain.host.link.session import Request, Session
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.granularity_unit import (
    GRANULARITY_UNIT,
    Destination,
    TileLoad,
    TileOpcode,
    TileSettled,
)
from adagrain.models.interface.units.tensor_input import BEAT

from .recovery import Recovery
from .requests import pass_requests
from .tiles import RECORD, Load

__all__ = ["Answer", "TileUnit", "Work"]

#: Words of a result, and of a beat, at the data port.
_PAIR, _WORDS = 2, BEAT // 4


class Answer(NamedTuple):
    """Results of the steps of a job.

    Attributes
    ----------
    records : array of RECORD
        Results that did not become operands, in order.
    kept : int
        Flags that those which did have raised.
    moved : int
        Bytes of requests with their operands, and of replies and results, without frames.
    """

    records: np.ndarray
    kept: int
    moved: int


class Work(Protocol):
    """Steps that the unit can be given."""

    def steps(self, destination: Destination) -> Iterator[Load | Request]:
        """Requests to the device, in order; results go to a destination."""

    def counts(self) -> list[int]:
        """Results of each run that sends any, in order."""


class TileUnit:
    """Has a device multiply tiles: through its data port, where there is one, or its link.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    session : Session
        Commands to the device.
    recovery : Recovery
        What runs operations on it.
    """

    def __init__(self, configuration: Configuration, session: Session, recovery: Recovery) -> None:
        self._built = GRANULARITY_UNIT in configuration.built()
        self._session, self._recovery = session, recovery

    def execute(self, work: Work) -> Answer:
        """The results of a job, or of a chain.

        Raises
        ------
        DeviceError
            If the device fails.
        """
        return self._recovery.run(lambda: self._run(list(work.steps(self._way)), work.counts()))

    @property
    def _way(self) -> Destination:
        """Destination of results that shall come back."""
        return Destination.PORT if self._session.transport.data_port else Destination.LINK

    def _run(self, steps: Sequence[Load | Request], counts: Sequence[int]) -> Answer:
        """Within an operation: take steps, and wait for the results.

        Parameters
        ----------
        steps : sequence of Load or Request
            What the device is given and asked for.
        counts : sequence of int
            Results of each run that sends any.
        """
        transport = self._session.transport
        loads = [step for step in steps if isinstance(step, Load)]
        if transport.data_port and loads:
            transport.load(np.concatenate([_whole(load.words) for load in loads]))
        asked: list[Request] = []
        replies = self._session.call(self._requests(steps, asked))
        sent = zip(asked, replies, strict=True)
        results = b"".join(reply for one, reply in sent if one.opcode == TileOpcode.RUN)
        moved = sum(len(one.payload) for one in asked) + sum(map(len, replies))
        records = np.frombuffer(results, dtype=RECORD)
        if transport.data_port:
            words = transport.results()
            records = self._from_port(words, counts)
            moved += words.nbytes + sum(load.words.nbytes for load in loads)
        return Answer(records, unpack(TileSettled, replies[-1])["flags"], moved)

    def settle(self) -> None:
        """Within an operation: drop the results of runs that nobody waits for any more."""
        if self._built and self._session.transport.data_port:
            self._session.call([Request(TileOpcode.SETTLE)])
            self._session.transport.results()

    def _requests(self, steps: Sequence[Load | Request], asked: list[Request]) -> Iterator[Request]:
        """Requests of all steps, and one to wait for all results; they are put down."""
        for step in [*steps, Request(TileOpcode.SETTLE)]:
            for request in [step] if isinstance(step, Request) else self._pass(step):
                asked.append(request)
                yield request

    def _pass(self, load: Load) -> Iterator[Request]:
        data_port = self._session.transport.data_port
        begin = pack(
            TileLoad,
            count=len(load.words),
            format=FormatCode.FP32,
            address=load.address,
            from_link=not data_port,
        )
        words = None if data_port else _whole(load.words)
        return pass_requests(GRANULARITY_UNIT, begin, words, self._session.frame_size)

    def _from_port(self, words: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        """Results of runs, each of which begins with a beat."""
        widths = [-(-count * _PAIR // _WORDS) * _WORDS for count in counts]
        if sum(widths) != len(words):
            raise DeviceError(
                f"the data port must bring {sum(widths)} words of results, not {len(words)}"
            )
        ends = np.cumsum(widths)
        records = np.empty(sum(counts), dtype=RECORD)
        at = 0
        for count, width, end in zip(counts, widths, ends, strict=True):
            pairs = words[end - width : end].reshape(-1, _PAIR)[:count]
            records["word"][at : at + count] = pairs[:, 0]
            records["flags"][at : at + count] = pairs[:, 1]
            at += count
        return records


def _whole(words: np.ndarray) -> np.ndarray:
    """Words in whole beats."""
    return np.pad(words, (0, -len(words) % _WORDS))
