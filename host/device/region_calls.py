"""Updates to decisions, by the Region Manager of a device."""

from collections.abc import Mapping, Sequence

from adagrain.models.interface.units.region_manager import MAX_WORKERS

from .arguments import integer
from .connection import Connection

__all__ = ["RegionCalls"]


class RegionCalls(Connection):
    """The operations of a device's Region Manager."""

    def configure_regions(
        self, records: Sequence[bytes], parameters: Mapping[str, int], first: int = 0
    ) -> None:
        """Write region records and the parameters that hold for all of them.

        Parameters
        ----------
        records : sequence of bytes
            :data:`RegionRecord` records, as
            :func:`adagrain.models.region_manager.table.region_record` makes them.
        parameters : mapping
            Fields of :data:`RegionParameters`.
        first : int
            Number of the first region; at most that of the first one never configured.

        Raises
        ------
        TypeError, ValueError
            If there are more regions than the table holds, or a gap is left in it, a record has a
            wrong length, or a parameter is no integer, or out of range.
        DeviceError
            If the device fails.
        """
        workers = integer("workers", parameters.get("workers", 0))
        if not 1 <= workers <= MAX_WORKERS:
            raise ValueError(f"workers must be from 1 to {MAX_WORKERS}, not {workers}")
        self._regions.configure(records, first, parameters)

    def update_regions(
        self,
        updates: Sequence[Mapping[str, int]],
        *,
        loss: int | None = None,
        epoch_end: bool = False,
    ) -> list[dict[str, int]]:
        """Give the Region Manager one step's energies; its decisions, in the same order.

        Parameters
        ----------
        updates : sequence of mappings
            Fields of :data:`RegionUpdate`; those left out are 0.
        loss : int or None
            Mean loss over the workers, Q16.16.
        epoch_end : bool
            This step closes a decision epoch.

        Raises
        ------
        TypeError, ValueError
            If a region was not configured, or a field does not fit.
        DeviceError
            If the device fails, or decides differently from the golden model.
        """
        return self._regions.decide(
            updates, loss=loss or 0, loss_valid=loss is not None, epoch_end=bool(epoch_end)
        )

    def read_regions(self, first: int, count: int) -> list[dict[str, int]]:
        """Records as they stand in the device's table: fields of :data:`RegionRecord`.

        Raises
        ------
        TypeError, ValueError
            If they leave the table.
        """
        return self._regions.read(first, count)

    def read_table(self, first: int, count: int) -> bytes:
        """The same records as bytes."""
        return self._regions.read_bytes(first, count)
