"""The driver's copy of a precision controller's records."""

from collections.abc import Iterator, Mapping, Sequence

from adagrain.host.link.frame_size import FrameSize
from adagrain.host.link.session import Request
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import size
from adagrain.models.interface.units.precision_controller import PrecisionOpcode, PrecisionRecord
from adagrain.models.precision_controller import PrecisionTable

__all__ = ["PrecisionCopy"]

_WIDTH = size(PrecisionRecord)


class PrecisionCopy:
    """Golden records, as a device's are, or will be once it has accepted something.

    A copy does not change: what a device is to do makes another copy.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with; it has a record for each region.
    records : sequence of bytes
        From unit 0 on.

    Raises
    ------
    ValueError
        If there are more than the device has, or one has a wrong length.
    """

    def __init__(self, configuration: Configuration, records: Sequence[bytes] = ()) -> None:
        self._configuration = configuration
        self.records = list(records)
        if len(self.records) > configuration.regions:
            raise ValueError(
                f"units must be from 0 to {configuration.regions - 1}, not {len(records) - 1}"
            )
        for record in self.records:
            if len(record) != _WIDTH:
                raise ValueError(f"record must be {_WIDTH} bytes, not {len(record)}")

    def written(self, records: Sequence[bytes], first: int) -> "PrecisionCopy":
        """The copy with other records from one on.

        Raises
        ------
        ValueError
            If they leave the table, or one has a wrong length.
        """
        last = first + len(records)
        if first < 0 or last > self._configuration.regions:
            raise ValueError(
                f"units must be from 0 to {self._configuration.regions - 1}, "
                f"not {first} to {last - 1}"
            )
        missing = [bytes(_WIDTH)] * (first - len(self.records))
        before, behind = (self.records + missing)[:first], self.records[last:]
        return PrecisionCopy(self._configuration, [*before, *records, *behind])

    def decided(
        self, updates: Sequence[Mapping[str, int]]
    ) -> tuple["PrecisionCopy", list[dict[str, int]]]:
        """The copy after updates, and its decisions.

        Raises
        ------
        ValueError
            If a unit has no record, or a field does not fit.
        """
        table = PrecisionTable(len(self.records))
        for unit, record in enumerate(self.records):
            table.write(unit, record)
        for unit in (update.get("unit", 0) for update in updates):
            if not 0 <= unit < len(self.records):
                known = f"0 to {len(self.records) - 1}, not {unit!r}"
                none = "but none was"
                raise ValueError(
                    f"unit must be one that was configured, {known if self.records else none}"
                )
        decisions = [table.update(update) for update in updates]
        records = [table.read(unit) for unit in range(len(self.records))]
        return PrecisionCopy(self._configuration, records), decisions

    def requests(self, frame_size: FrameSize, at_least: int) -> Iterator[Request]:
        """Commands that make a device's records equal to these, as long as the line suits.

        Parameters
        ----------
        at_least : int
            How many to write: a device may have some that this copy does not.
        """
        room = max(1, (frame_size.payload - 2) // _WIDTH)
        records = self.records + [bytes(_WIDTH)] * (at_least - len(self.records))
        for at in range(0, len(records), room):
            octets = b"".join(records[at : at + room])
            yield Request(PrecisionOpcode.WRITE, at.to_bytes(2, "little") + octets)
