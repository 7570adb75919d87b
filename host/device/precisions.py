"""The precision controller of a device."""

from collections.abc import Iterator, Mapping, Sequence

from adagrain.host.errors import DeviceError
from adagrain.host.link.session import Request, Session
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import pack, size, unpack_all
from adagrain.models.interface.units.precision_controller import (
    PrecisionDecision,
    PrecisionOpcode,
    PrecisionRecord,
    PrecisionUpdate,
)

from .arguments import check_span, integer
from .precision_copy import PrecisionCopy
from .recovery import Recovery
from .requests import parts

__all__ = ["Precisions"]


class Precisions:
    """Records of granularity units, and decisions on them; ``device.precisions``.

    Each decision is compared with the golden model's. A device that has lost its records gets
    them back, as it does the region table.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with; it has a record for each region.
    session : Session
        Commands to the device.
    recovery : Recovery
        What runs operations on it.

    Attributes
    ----------
    copy : PrecisionCopy
        The records that the device has, or is given when it has lost them.
    """

    def __init__(self, configuration: Configuration, session: Session, recovery: Recovery) -> None:
        self._configuration = configuration
        self._session, self._recovery = session, recovery
        self.copy = PrecisionCopy(configuration)
        self._written = 0  # how many records of the device may be others than at power-on

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
        DeviceError
            If the device fails.
        """
        if "precision_controller" not in self._configuration.units:
            raise ValueError(
                "precisions need a build with a precision controller, which preset "
                f"{self._configuration.preset!r} does not have"
            )
        with self._recovery:
            after = self.copy.written(records, integer("first", first))
            self._recovery.run(lambda: self._replace(after))

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
        octets = b"".join(pack(PrecisionUpdate, **update) for update in updates)

        def requests() -> Iterator[Request]:
            width = size(PrecisionUpdate)
            for at, count in parts(0, len(updates), width, self._session.frame_size):
                yield Request(PrecisionOpcode.STEP, octets[at * width : (at + count) * width])

        with self._recovery:
            after, wanted = self.copy.decided(updates)

            def decide() -> None:
                decided = unpack_all(PrecisionDecision, b"".join(self._session.call(requests())))
                if decided != wanted:
                    raise DeviceError(
                        "the precision controller decided differently from the golden model"
                    )
                self.copy = after

            self._recovery.run(decide)
        return wanted

    def read(self, first: int, count: int) -> list[dict[str, int]]:
        """Records as they stand in the device: fields of :data:`PrecisionRecord`.

        Raises
        ------
        ValueError
            If they leave the table.
        """
        first, count = check_span("units", first, count, self._configuration.regions)

        def requests() -> Iterator[Request]:
            width = size(PrecisionRecord)
            for at, step in parts(first, count, width, self._session.frame_size):
                yield Request(PrecisionOpcode.READ, at.to_bytes(2, "little") + bytes([step]))

        replies = self._recovery.run(lambda: self._session.call(requests()))
        return unpack_all(PrecisionRecord, b"".join(replies))

    def state(self) -> list[bytes]:
        """The configured records, read from the copy; :meth:`configure` takes them back."""
        return list(self.copy.records)

    def send(self, copy: PrecisionCopy) -> None:
        """Within an operation: make the device's records equal to a copy."""
        self._written = max(self._written, len(copy.records))
        self._session.call(copy.requests(self._session.frame_size, self._written))

    def _replace(self, copy: PrecisionCopy) -> None:
        self.send(copy)
        self.copy = copy
