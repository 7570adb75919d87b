"""The driver's copy of a unit's table, from which a device that lost its own is restored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from adagrain.host.link.frame_size import FrameSize
from adagrain.host.link.session import Request
from adagrain.models.device.golden_table import GoldenTable
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units import Table, Unit, load
from adagrain.models.interface.units.ranges import First

__all__ = ["Mirror"]


@dataclass(frozen=True)
class Mirror:
    """A golden table, as a device's is, or will be once it has accepted something.

    It does not change: what a device is to do makes another one.

    Parameters
    ----------
    unit : Unit
        The unit; it keeps a table.
    configuration : Configuration
        What the device is built with.
    golden : GoldenTable
        What the table holds.
    configured : int
        Number of entries, from 0 on, that the host has written.
    has_settings : bool
        Whether it has written what holds for all entries.
    """

    unit: Unit
    configuration: Configuration
    golden: GoldenTable
    configured: int = 0
    has_settings: bool = False

    @staticmethod
    def empty(unit: Unit, configuration: Configuration) -> "Mirror":
        """That of a device at power-on."""
        of = table_of(unit)
        return Mirror(unit, configuration, load(unit, of.model)(of.entries(configuration)))

    @property
    def entries(self) -> int:
        """Number of entries."""
        return table_of(self.unit).entries(self.configuration)

    @property
    def number(self) -> str:
        """Name of an entry's number, for messages."""
        return table_of(self.unit).number.replace("_", " ")

    def written(
        self, records: Sequence[bytes], first: int, settings: bytes | None = None
    ) -> "Mirror":
        """The mirror with other records from one on, and other settings if they are given.

        Raises
        ------
        ValueError
            If they leave the table, or a gap in it, or a record has a wrong length.
        """
        last, width = first + len(records), size(table_of(self.unit).record)
        if first < 0 or last > self.entries:
            raise ValueError(
                f"{self.number}s must be from 0 to {self.entries - 1} on device preset "
                f"{self.configuration.preset!r}, not {first} to {last - 1}"
            )
        if first > self.configured:
            raise ValueError(
                f"first must be at most {self.configured}, the first {self.number} that was not "
                f"configured yet, not {first}"
            )
        for record in records:
            if len(record) != width:
                raise ValueError(f"record must be {width} bytes, not {len(record)}")
        golden = self.golden.copy()
        golden.write(first * self.unit.items_per_entry, b"".join(records))
        if settings is not None:
            golden.settings = settings
        is_set = self.has_settings or settings is not None
        configured = max(self.configured, last)
        return replace(self, golden=golden, configured=configured, has_settings=is_set)

    def stepped(self, payloads: Sequence[bytes]) -> tuple["Mirror", bytes]:
        """The mirror after requests to step, and their decisions."""
        golden = self.golden.copy()
        split = self.unit[table_of(self.unit).step].request.head_size
        decided = b"".join(golden.step(one[:split], one[split:]) for one in payloads)
        return replace(self, golden=golden), decided

    def decided(
        self, head: Mapping[str, int], updates: Sequence[Mapping[str, int]]
    ) -> tuple["Mirror", list[dict[str, int]]]:
        """As :meth:`stepped`, of all fields of the records."""
        golden = self.golden.copy()
        return replace(self, golden=golden), golden.decide(head, updates)

    def check_updates(self, numbers: Sequence[int]) -> None:
        """Make sure that a step can update these entries.

        Raises
        ------
        ValueError
            If one is outside the table or was not configured, or settings are needed and missing.
        """
        for number in numbers:
            if not 0 <= number < self.entries:
                raise ValueError(
                    f"{self.number} must be from 0 to {self.entries - 1}, not {number!r}"
                )
        if table_of(self.unit).settings is not None and not self.has_settings:
            raise ValueError(
                f"{self.number}s must be configured before they are updated, but none was"
            )
        for number in numbers:
            if number >= self.configured:
                known = f"0 to {self.configured - 1}, not {number!r}"
                raise ValueError(
                    f"{self.number} must be one that was configured, "
                    f"{known if self.configured else 'but none was'}"
                )

    def read(self, first: int, count: int) -> bytes:
        """Entries, one behind the other."""
        items = self.unit.items_per_entry
        return self.golden.read(first * items, count * items)

    def records(self) -> list[bytes]:
        """The entries that were configured."""
        return [self.read(number, 1) for number in range(self.configured)]

    def requests(self, frame_size: FrameSize, at_least: int) -> Iterator[Request]:
        """Requests that make a device's table equal to this one, as long as the line suits.

        Parameters
        ----------
        at_least : int
            How many entries to write: a device may have some that this mirror does not.
        """
        of, width = table_of(self.unit), self.unit.item_size
        at, end = 0, max(self.configured, at_least) * self.unit.items_per_entry
        while at < end:
            step = min(end - at, max(1, (frame_size.payload - size(First)) // width))
            yield Request(of.write, pack(First, first=at) + self.golden.read(at, step))
            at += step
        if of.settings is not None and self.has_settings:
            yield Request(of.settings, self.golden.settings)


def table_of(unit: Unit) -> Table:
    """The table that a unit keeps."""
    assert unit.table is not None
    return unit.table
