"""The precision controller of a device, and the driver's copy of its records."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from adagrain.models.configuration import Configuration
from adagrain.models.precision_controller import PrecisionTable
from adagrain.models.protocol import Opcode
from adagrain.models.records import (
    PrecisionDecision,
    PrecisionRecord,
    PrecisionUpdate,
    pack,
    size,
    unpack,
)

from .errors import DeviceError
from .frame_size import FrameSize
from .session import Request

__all__ = ["Precisions"]

#: Executes the requests that a function makes for frames of some size; the replies' payloads.
Execute = Callable[[Callable[[FrameSize], Iterator[Request]]], list[bytes]]


class Precisions:
    """Records of granularity units, and decisions on them; ``device.precisions``.

    Each decision is compared with the golden model's. A device that has lost its records gets
    them back, as it does the region table.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with; it has a record for each region.
    execute : callable
        Runs requests on the device, again where it lost the session.
    """

    def __init__(self, configuration: Configuration, execute: Execute) -> None:
        self._configuration = configuration
        self._execute = execute
        self._table = PrecisionTable(configuration.regions)
        self._configured = 0

    def configure(self, records: Sequence[bytes], first: int = 0) -> None:
        """Write records.

        Parameters
        ----------
        records : sequence of bytes
            As :func:`adagrain.models.precision_controller.precision_record` makes them.
        first : int
            Number of the first unit.

        Raises
        ------
        ValueError
            If there are more units than records, a record has a wrong length, or the build has
            no controller.
        """
        last = first + len(records)
        if not self._configuration.slices:
            raise ValueError(
                "precisions need a build with a granularity unit: preset "
                f"{self._configuration.preset!r} has no slices"
            )
        if first < 0 or last > self._configuration.regions:
            raise ValueError(
                f"units must be from 0 to {self._configuration.regions - 1}, "
                f"not {first} to {last - 1}"
            )
        for record in records:
            if len(record) != size(PrecisionRecord):
                raise ValueError(f"record must be {size(PrecisionRecord)} bytes, not {len(record)}")
        for number, record in enumerate(records, start=first):
            self._table.write(number, record)
        self._configured = max(self._configured, last)
        self._execute(self.requests)

    def decide(self, updates: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
        """Tell the spreads of units' inputs; the decisions, in the same order.

        Parameters
        ----------
        updates : sequence of mappings
            Fields of :data:`PrecisionUpdate`.

        Raises
        ------
        ValueError
            If a unit has no record, or a field does not fit.
        DeviceError
            If the device fails, or decides differently from the golden model.
        """
        for update in updates:
            if not 0 <= update["unit"] < self._configured:
                raise ValueError(
                    f"unit must be from 0 to {self._configured - 1}, not {update['unit']}"
                )
        records = [pack(PrecisionUpdate, **update) for update in updates]

        def requests(frame_size: FrameSize) -> Iterator[Request]:
            room = max(1, frame_size.payload // size(PrecisionUpdate))
            for at in range(0, len(records), room):
                yield Request(Opcode.PRECISION_STEP, b"".join(records[at : at + room]))

        decided = b"".join(self._execute(requests))
        width = size(PrecisionDecision)
        found = [
            unpack(PrecisionDecision, decided[at : at + width])
            for at in range(0, len(decided), width)
        ]
        before = self.state()
        if found != [self._table.update(update) for update in updates]:
            self._restore(before)
            raise DeviceError("the precision controller decided differently from the golden model")
        return found

    def read(self, first: int, count: int) -> list[dict[str, int]]:
        """Records as they stand in the device: fields of :data:`PrecisionRecord`."""

        def requests(frame_size: FrameSize) -> Iterator[Request]:
            room = max(1, frame_size.payload // size(PrecisionRecord))
            for at in range(first, first + count, room):
                step = min(room, first + count - at)
                yield Request(Opcode.PRECISION_READ, at.to_bytes(2, "little") + bytes([step]))

        octets, width = b"".join(self._execute(requests)), size(PrecisionRecord)
        return [
            unpack(PrecisionRecord, octets[at : at + width]) for at in range(0, len(octets), width)
        ]

    def requests(self, frame_size: FrameSize) -> Iterator[Request]:
        """Commands that make the device's records equal to the copy."""
        room = max(1, (frame_size.payload - 2) // size(PrecisionRecord))
        for at in range(0, self._configured, room):
            records = self.state()[at : at + room]
            yield Request(Opcode.PRECISION_WRITE, at.to_bytes(2, "little") + b"".join(records))

    def state(self) -> list[bytes]:
        """The configured records, read from the copy; :meth:`configure` takes them back."""
        return [self._table.read(number) for number in range(self._configured)]

    def _restore(self, records: Sequence[bytes]) -> None:
        for number, record in enumerate(records):
            self._table.write(number, record)
