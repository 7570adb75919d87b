"""A device, whatever is behind its url: its link, its tables, and what becomes of failures."""

from collections.abc import Mapping
from typing import Any, Self

from adagrain.host.link.session import Request, Session
from adagrain.host.link.transport import connect
from adagrain.host.link.transport.base import Transport
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import PROTOCOL_VERSION
from adagrain.models.interface.records import size
from adagrain.models.interface.units import SYSTEM, UNITS, Unit, registers
from adagrain.models.interface.units.region_manager import RegionRecord
from adagrain.models.interface.units.system import SystemOpcode

from .arguments import check_parts
from .code_tables import CodeTables
from .identity import Info, check_identity, read_identity, read_registers
from .mirror import Mirror
from .mirrored_table import MirroredTable
from .recovery import Recovery
from .tile_unit import TileUnit

__all__ = ["Connection"]

#: Units whose tables have keys of their own in a state, those of old checkpoints.
_TABLES_OF_THEIR_OWN = ("region_manager", "precision_controller")


class Connection:
    """A device behind its url, opened; a context manager that closes it.

    Copies of the units' tables are kept: when the device has lost them (it or a unit of it was
    reset), a session is opened, they are restored, and the call is repeated, so that they end as if
    nothing had happened; ``counters()`` has how often. They change when the device has accepted a
    call, so that after one that failed, or was interrupted, all are as they were before, and the
    next call works. Threads may share a device: their calls wait for each other.

    A device that fails in spite of repeats raises :class:`DeviceError`; where :attr:`replaceable`
    is set, the golden model takes its place instead, whatever the call: the tables are restored
    into it, the operation is made again, and the change is logged as an error and counted in
    ``counters()["fallbacks"]``. So it is where a device refuses an operation,
    or a transport raises anything else, unless the golden model refuses the same operation.
    :attr:`backend` and :attr:`url` are then its.

    After :meth:`close` all that needs the device raises :class:`ClosedError`. So it does in a
    process that was forked: the device stays with the process that has opened it.

    Where the build has no ``region_manager``, the golden model on the host decides, and
    :attr:`backend` says so.

    Parameters
    ----------
    transport : Transport
        Way to the device.
    wanted : Configuration
        What the device must have been built with.
    url : str
        For messages.
    timeout : float
        Seconds to wait for an answer before sending again.
    retries : int
        After ``(retries + 1) × timeout`` seconds and so many repeats without progress a break
        resets the device; if it does not answer then either, :class:`DeviceTimeoutError`.
    """

    def __init__(
        self, transport: Transport, wanted: Configuration, *, url: str, timeout: float, retries: int
    ) -> None:
        self.configuration = wanted
        self._url = url
        self._session = Session(
            transport,
            window=wanted.window,
            payload=wanted.payload,
            timeout=timeout,
            retries=retries,
        )
        self._recovery = Recovery(
            self._session, self._restore, lambda: connect("golden:", self.configuration)
        )
        self._tiles = TileUnit(wanted, self._session, self._recovery)
        self._code_tables = CodeTables(self._session)
        self.tables = {
            unit.name: MirroredTable(unit, wanted, self._session, self._recovery)
            for unit in UNITS.values()
            if unit.table is not None
        }
        check_identity(self._registers(SYSTEM), wanted, url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the device; may be called twice. A process that was forked lets go of none."""
        self._recovery.close()

    @property
    def backend(self) -> str:
        """Name of what really computes, for people."""
        missing = [
            f"; {name} is not built: golden model decides"
            for name, table in self.tables.items()
            if table.decides_alone
        ]
        return self._session.transport.backend + "".join(missing)

    @property
    def url(self) -> str:
        """That of the device which computes now."""
        return "golden:" if self._recovery.counters["fallbacks"] else self._url

    @property
    def replaceable(self) -> bool:
        """True if the golden model takes the device's place when it fails; settable."""
        return self._recovery.replaces

    @replaceable.setter
    def replaceable(self, is_so: bool) -> None:
        self._recovery.replaces = is_so

    @property
    def precisions(self) -> MirroredTable:
        """Records of the precision controller, and its decisions."""
        return self.tables["precision_controller"]

    def info(self) -> Info:
        """Identity of the device that answered, read from it."""
        return read_identity(self._registers(), url=self.url, backend=self.backend)

    def counters(self) -> dict[str, int]:
        """The device's counting registers and the driver's own counters, by name."""
        constant = {register.name for _, _, register in registers() if register.constant}
        counting = {k: v for k, v in self._registers().items() if k not in constant}
        return counting | dict(self._session.counters) | dict(self._recovery.counters)

    def echo(self, payload: bytes) -> bytes:
        """Bytes that went to the device and back.

        Raises
        ------
        ValueError
            If they are more than a frame's payload may have: the device would refuse them.
        """
        if len(payload) > self.configuration.payload:
            raise ValueError(
                f"payload must have at most {self.configuration.payload} bytes, not {len(payload)}"
            )
        return self._recovery.run(
            lambda: self._session.call([Request(SystemOpcode.ECHO, payload)])
        )[0]

    def state_dict(self) -> dict[str, Any]:
        """All tables and parameters, for checkpoints; read from the driver's copies."""
        with self._recovery.others_wait:  # a copy that is read must not be made at the same time
            return {
                "protocol": PROTOCOL_VERSION,
                "table": b"".join(self._regions.state()),
                "parameters": self._regions.settings(),
                "precisions": self.precisions.state(),
                "tables": {
                    name: {"records": table.state(), "settings": table.settings()}
                    for name, table in self.tables.items()
                    if name not in _TABLES_OF_THEIR_OWN
                },
            }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave, and nothing else: other records become invalid.

        Raises
        ------
        TypeError, ValueError
            If it is no such state, or of another version of the protocol, which may have laid
            records out otherwise, has more entries than a table of this device holds, or one of a
            unit that is not known.
        DeviceError
            If the device fails.
        """
        check_parts(state, "table", "parameters")
        version = state.get("protocol", "3 or older")
        if version != PROTOCOL_VERSION:
            raise ValueError(f"state must be of protocol {PROTOCOL_VERSION}, not {version}")
        raw, width = state["table"], size(RegionRecord)
        regions = [raw[at : at + width] for at in range(0, len(raw), width)]
        further = state.get("tables", {})
        if unknown := sorted(further.keys() - self.tables.keys()):
            raise ValueError(
                f"state must be of tables {', '.join(self.tables)}, not of {unknown[0]!r}"
            )
        entries = {name: (own["records"], own["settings"]) for name, own in further.items()}
        parameters = state["parameters"] or {}  # older states have zeros where none were written
        entries["region_manager"] = (regions, parameters if any(parameters.values()) else None)
        entries["precision_controller"] = (state.get("precisions", ()), None)
        mirrors = {
            name: table.restored(*entries.get(name, ((), None)))
            for name, table in self.tables.items()
        }
        self._recovery.run(lambda: self._replace(mirrors))

    @property
    def _regions(self) -> MirroredTable:
        return self.tables["region_manager"]

    def _replace(self, mirrors: Mapping[str, Mirror]) -> None:
        """Within an operation: make tables of the device equal to mirrors, which become ours."""
        for name, mirror in mirrors.items():
            self.tables[name].send(mirror)
        for name, mirror in mirrors.items():
            self.tables[name].mirror = mirror

    def _restore(self) -> None:
        """Give a device that may have forgotten everything the tables that it had."""
        for table in self.tables.values():
            table.send(table.mirror)
        self._tiles.settle()
        self._code_tables.forget()

    def _registers(self, *units: Unit) -> dict[str, int]:
        """Registers of units, or all of them."""
        return self._recovery.run(lambda: read_registers(self._session, units))
