"""A unit's table on a device, and the driver's copy of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from adagrain.host.errors import DeviceError
from adagrain.host.link.frame_size import FrameSize
from adagrain.host.link.session import Request, Session
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import complete, pack, size, unpack, unpack_all
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.ranges import Range

from .arguments import check_span, integer
from .direct import direct_of
from .mirror import Mirror, table_of
from .recovery import Recovery
from .requests import parts

__all__ = ["MirroredTable"]


class MirroredTable:
    """Records that a unit of a device keeps, and decisions on them.

    Which records, updates and decisions these are is said by the unit's descriptor. Each decision
    is compared with the golden model's; a device that is the golden model, in this process, takes
    over what this one has decided. A device that has lost its records gets them back. Where
    the build has no such unit, its table cannot be used; or, where the descriptor says that this
    may be so, the golden model decides alone, and nothing is sent.

    Parameters
    ----------
    unit : Unit
        The unit; it keeps a table.
    configuration : Configuration
        What the device is built with.
    session : Session
        Commands to the device.
    recovery : Recovery
        What runs operations on it.

    Attributes
    ----------
    is_built : bool
        Whether the device has the unit.
    decides_alone : bool
        Whether the golden model decides, since it has not.
    mirror : Mirror
        What the device has, or is given when it has lost it.
    """

    def __init__(
        self, unit: Unit, configuration: Configuration, session: Session, recovery: Recovery
    ) -> None:
        self._unit, self._of, self._configuration = unit, table_of(unit), configuration
        self._session, self._recovery = session, recovery
        self.is_built = unit in configuration.built()
        self.decides_alone = not self.is_built and self._of.optional
        self.mirror = Mirror.empty(unit, configuration)
        self._written = 0  # how many entries of the device may be others than at power-on

    def configure(
        self,
        records: Sequence[bytes],
        first: int = 0,
        settings: Mapping[str, int] | None = None,
    ) -> None:
        """Write records, and what holds for all of them.

        Parameters
        ----------
        records : sequence of bytes
            Each as long as the table's record.
        first : int
            Number of the first one's entry; at most that of the first one never configured.
        settings : mapping or None
            Fields of the record of the unit's settings, where it has any; ``None``: as they are.

        Raises
        ------
        TypeError, ValueError
            If they leave the table, or a gap in it, a record has a wrong length, a field does not
            fit, or the build has no such unit.
        DeviceError
            If the device fails.
        """
        self._check_built()
        raw = None if settings is None else self._packed(settings)
        with self._recovery:
            after = self.mirror.written(records, integer("first", first), raw)

            def write() -> None:
                self.send(after)
                self.mirror = after

            self._recovery.run(write)

    def decide(self, updates: Sequence[Mapping[str, int]], **head: int) -> list[dict[str, int]]:
        """Tell the unit of entries; its decisions, in the same order.

        Parameters
        ----------
        updates : sequence of mappings
            Fields of the table's update; those left out are 0.
        head
            Fields of the record that holds for all of them, where there is one.

        Raises
        ------
        TypeError, ValueError
            If an entry was not configured, or a field does not fit.
        DeviceError
            If the device fails, or decides differently from the golden model.
        """
        step, number = self._unit[self._of.step], self._of.number
        request = step.request
        begin = complete(request.record, **head) if head or request.head else {}
        records = [complete(request.items, **update) for update in updates]
        with self._recovery:
            self.mirror.check_updates([update[number] for update in records])
            return self._recovery.run(lambda: self._decide(records, begin))

    def read(self, first: int, count: int) -> list[dict[str, int]]:
        """Entries as they stand in the device, by the names of their fields.

        Raises
        ------
        TypeError, ValueError
            If they leave the table.
        DeviceError
            If the device fails.
        """
        return unpack_all(self._of.record, self.read_bytes(first, count))

    def read_bytes(self, first: int, count: int) -> bytes:
        """The same as the bytes of records."""
        first, count = check_span(f"{self.mirror.number}s", first, count, self.mirror.entries)
        self._check_built()
        if not self.is_built:
            return self.mirror.read(first, count)
        read = self._recovery.run(lambda: self._session.call(self._reads(first, count)))
        return b"".join(read)

    def state(self) -> list[bytes]:
        """The entries that were configured, from the mirror; :meth:`configure` takes them."""
        return self.mirror.records()

    def settings(self) -> dict[str, int] | None:
        """Settings of all entries, from the mirror, if they were configured."""
        of_all = self._unit.settings
        if of_all is None or not self.mirror.has_settings:
            return None
        return unpack(of_all.request.record, self.mirror.golden.settings)

    def restored(
        self, records: Sequence[bytes], settings: Mapping[str, int] | None = None
    ) -> Mirror:
        """The mirror that has these records and settings, and nothing else."""
        raw = None if settings is None else self._packed(settings)
        return Mirror.empty(self._unit, self._configuration).written(records, 0, raw)

    def send(self, mirror: Mirror) -> None:
        """Within an operation: make the device's table equal to a mirror, which is not yet ours."""
        self._written = max(self._written, mirror.configured)
        self._call(mirror.requests(self._session.frame_size, self._written))

    def _check_built(self) -> None:
        if not (self.is_built or self.decides_alone):
            raise ValueError(
                f"{self._unit.name} must be built, but device preset "
                f"{self._configuration.preset!r} has none"
            )

    def _packed(self, settings: Mapping[str, int]) -> bytes:
        if self._of.settings is None:
            raise ValueError(f"settings of {self._unit.name} must be None: it has none")
        return pack(self._unit[self._of.settings].request.record, **settings)

    def _decide(
        self, updates: Sequence[Mapping[str, int]], begin: Mapping[str, int]
    ) -> list[dict[str, int]]:
        """Within an operation: decisions, which must be the golden model's."""
        direct = direct_of(self._session)
        if direct is not None and self.is_built:
            after, decisions = self.mirror.decided(begin, updates)
            direct.adopt(self._unit.name, after.golden, len(updates))
            self.mirror = after
            return decisions
        step = self._unit[self._of.step]
        head = pack(step.request.record, **begin) if begin else b""
        records = [pack(step.request.items, **update) for update in updates]
        payloads = self._steps(records, head, self._session.frame_size)
        after, decided = self.mirror.stepped(payloads)
        replies = self._call(Request(self._of.step, payload) for payload in payloads)
        if self.is_built and b"".join(replies) != decided:
            raise DeviceError(
                f"{self._unit.name} of {self._session.transport.backend} decided differently from "
                "the golden model"
            )
        self.mirror = after
        return unpack_all(step.reply.items, decided)

    def _call(self, requests: Iterable[Request]) -> list[bytes]:
        """Replies of the device, if it has the unit."""
        return self._session.call(requests) if self.is_built else []

    def _steps(self, updates: Sequence[bytes], begin: bytes, frame_size: FrameSize) -> list[bytes]:
        """Payloads of steps: as few as the line suits; the head counts once."""
        if not begin and not updates:
            return []
        step, longest = self._unit[self._of.step], frame_size.payload
        room = max(1, (longest - len(begin)) // step.request.item_size)
        heads = [begin, bytes(len(begin))]
        return [
            heads[at > 0] + b"".join(updates[at : at + room])
            for at in range(0, max(len(updates), 1), room)
        ]

    def _reads(self, first: int, count: int) -> Iterator[Request]:
        """Requests for entries: as few as the line suits."""
        items, width = self._unit.items_per_entry, size(self._of.record)
        for at, step in parts(first, count, width, self._session.frame_size, items=items):
            yield Request(self._of.read, pack(Range, first=at * items, count=step * items))
