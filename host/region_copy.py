"""The driver's copy of the region table, from which a device that lost its own is restored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adagrain.models.commands import WORDS_PER_REGION
from adagrain.models.configuration import Configuration
from adagrain.models.protocol import PROTOCOL_VERSION, Opcode
from adagrain.models.records import RegionParameters, RegionRecord, RegionStep, pack, size, unpack
from adagrain.models.region_manager import WORD, RegionTable

from .frame_size import FrameSize
from .session import Request

__all__ = ["RegionCopy"]


class RegionCopy:
    """A golden region table that takes the same steps as the device's.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._table = RegionTable(configuration.regions)
        self._configured = 0

    @property
    def _words(self) -> int:
        return self._configured * WORDS_PER_REGION

    def configure(
        self, records: Sequence[bytes], parameters: Mapping[str, int], first: int
    ) -> None:
        """Overwrite records and parameters.

        Raises
        ------
        ValueError
            If there are more regions than the table holds, or a record has a wrong length.
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
        self._table.parameters = unpack(RegionParameters, pack(RegionParameters, **parameters))
        self._table.write_words(first * WORDS_PER_REGION, b"".join(records))
        self._configured = max(self._configured, last)

    def requests(self, frame_size: FrameSize) -> Iterator[Request]:
        """Commands that make a device's table equal to this one, as long as the line suits."""
        at = 0
        while at < self._words:
            step = min(self._words - at, max(1, (frame_size.payload - 2) // WORD))
            words = self._table.read_words(at, step)
            yield Request(Opcode.REGIONS_WRITE, at.to_bytes(2, "little") + words)
            at += step
        if self._configured:
            yield Request(Opcode.REGIONS_PARAMETERS, self._table.parameter_octets())

    def decide(self, batches: Sequence[bytes]) -> bytes:
        """Take a step without a device.

        Parameters
        ----------
        batches : sequence of bytes
            Payloads of REGIONS_STEP commands.
        """
        split = size(RegionStep)
        return b"".join(self._table.step(batch[:split], batch[split:]) for batch in batches)

    def step(self, batches: Sequence[bytes], decided: bytes) -> bool:
        """Take a step that the device has taken; whether it decided alike.

        Where it did not, the copy stays as before.

        Parameters
        ----------
        batches : sequence of bytes
            Payloads of the REGIONS_STEP commands.
        decided : bytes
            The device's decisions.
        """
        before = self._table.read_words(0, self._words), self._table.parameters
        if decided == self.decide(batches):
            return True
        self._table.write_words(0, before[0])
        self._table.parameters = before[1]
        return False

    def read(self, first: int, count: int) -> bytes:
        """Octets of records."""
        return self._table.read_words(first * WORDS_PER_REGION, count * WORDS_PER_REGION)

    def state(self) -> dict[str, Any]:
        """Octets of the configured records, the parameters, and the version of both."""
        return {
            "protocol": PROTOCOL_VERSION,
            "table": self._table.read_words(0, self._words),
            "parameters": self._table.parameters,
        }
