"""The driver's copy of the region table, from which a device that lost its own is restored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adagrain.host.link.frame_size import FrameSize
from adagrain.host.link.session import Request
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import PROTOCOL_VERSION
from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units.region_manager import (
    MAX_WORKERS,
    WORD,
    WORDS_PER_REGION,
    RegionOpcode,
    RegionParameters,
    RegionRecord,
    RegionStep,
)
from adagrain.models.region_manager.table import RegionTable

__all__ = ["RegionCopy"]


class RegionCopy:
    """A golden region table, as a device's is, or will be once it has accepted something.

    A copy does not change: what a device is to do makes another copy.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Attributes
    ----------
    configured : int
        Number of regions, from 0 on, that hold what the host has written.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._table = RegionTable(configuration.regions)
        self.configured = 0

    @staticmethod
    def of(configuration: Configuration, state: Mapping[str, Any]) -> "RegionCopy":
        """The copy whose :meth:`state` that is.

        Raises
        ------
        ValueError
            If it is of another version of the protocol, or does not fit the configuration.
        """
        version = state.get("protocol", "3 or older")
        if version != PROTOCOL_VERSION:
            raise ValueError(f"state must be of protocol {PROTOCOL_VERSION}, not {version}")
        copy, width = RegionCopy(configuration), size(RegionRecord)
        table, parameters = state["table"], state["parameters"]
        if not table and not parameters["workers"]:
            return copy
        records = [table[at : at + width] for at in range(0, len(table), width)]
        return copy.written(records, parameters, 0)

    def written(
        self, records: Sequence[bytes], parameters: Mapping[str, int], first: int
    ) -> "RegionCopy":
        """The copy with other records from one on, and other parameters.

        Raises
        ------
        ValueError
            If there are more regions than the table holds, a record has a wrong length, or a
            parameter is out of range.
        """
        last = first + len(records)
        if first < 0 or last > self._configuration.regions:
            raise ValueError(
                f"regions must be from 0 to {self._configuration.regions - 1} on preset "
                f"{self._configuration.preset!r}, not {first} to {last - 1}"
            )
        for record in records:
            if len(record) != size(RegionRecord):
                raise ValueError(f"record must be {size(RegionRecord)} bytes, not {len(record)}")
        workers = parameters.get("workers", 0)
        if not 1 <= workers <= MAX_WORKERS:
            raise ValueError(f"workers must be from 1 to {MAX_WORKERS}, not {workers!r}")
        pack(RegionParameters, **parameters)
        after = self._duplicate()
        after._table.parameters = dict(parameters)
        after._table.write_words(first * WORDS_PER_REGION, b"".join(records))
        after.configured = max(self.configured, last)
        return after

    def stepped(self, batches: Sequence[bytes]) -> tuple["RegionCopy", bytes]:
        """The copy after a step, and its decisions.

        Parameters
        ----------
        batches : sequence of bytes
            Payloads of STEP commands.
        """
        after, split = self._duplicate(), size(RegionStep)
        decided = b"".join(after._table.step(batch[:split], batch[split:]) for batch in batches)
        return after, decided

    def requests(self, frame_size: FrameSize, at_least: int) -> Iterator[Request]:
        """Commands that make a device's table equal to this one, as long as the line suits.

        Parameters
        ----------
        at_least : int
            How many records to write: a device may have some that this copy does not.
        """
        at, end = 0, max(self.configured, at_least) * WORDS_PER_REGION
        while at < end:
            step = min(end - at, max(1, (frame_size.payload - 2) // WORD))
            words = self._table.read_words(at, step)
            yield Request(RegionOpcode.WRITE, at.to_bytes(2, "little") + words)
            at += step
        if self._table.configured:
            yield Request(RegionOpcode.PARAMETERS, self._table.parameter_octets())

    def check_updates(self, regions: Sequence[int]) -> None:
        """Make sure that a step can update these regions.

        Raises
        ------
        ValueError
            If one is outside the table, or was not configured, or nothing was.
        """
        for region in regions:
            if not 0 <= region < self._configuration.regions:
                raise ValueError(
                    f"region must be from 0 to {self._configuration.regions - 1}, not {region!r}"
                )
        if not self._table.configured:
            raise ValueError("regions must be configured before they are updated, but none was")
        for region in regions:
            if region >= self.configured:
                raise ValueError(
                    f"region must be one that was configured, 0 to {self.configured - 1}, "
                    f"not {region!r}"
                )

    def read(self, first: int, count: int) -> bytes:
        """Octets of records."""
        return self._table.read_words(first * WORDS_PER_REGION, count * WORDS_PER_REGION)

    def state(self) -> dict[str, Any]:
        """Octets of the configured records, the parameters, and the version of both."""
        return {
            "protocol": PROTOCOL_VERSION,
            "table": self.read(0, self.configured),
            "parameters": self._table.parameters,
        }

    def _duplicate(self) -> "RegionCopy":
        copy = RegionCopy(self._configuration)
        copy._table = self._table.copy()
        copy.configured = self.configured
        return copy
