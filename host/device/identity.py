"""Identity of a device, as its first registers tell it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adagrain.host.errors import ProtocolMismatchError
from adagrain.host.link.session import Request, Session
from adagrain.models.interface.configuration import PRESETS, Configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.protocol import MAGIC, PROTOCOL_VERSION
from adagrain.models.interface.records import pack
from adagrain.models.interface.units import ALWAYS, UNITS, Unit
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.unit import SPAN

__all__ = ["Info", "check_identity", "find_configuration", "read_identity", "read_registers"]


@dataclass(frozen=True)
class Info:
    """The device that answered, and what it was built with.

    Members
    -------
    units : dict of str to dict
        What was built, by name: the constant registers of each unit.
    """

    url: str
    backend: str
    preset: str
    protocol: int
    build: int
    payload: int
    window: int
    formats: tuple[str, ...]
    units: dict[str, dict[str, int]]


def read_registers(session: Session, units: Iterable[Unit] | None = None) -> dict[str, int]:
    """Registers of the device that a session is with, by name; all of them, or those of units."""
    asked = [unit for unit in units or UNITS.values() if unit.registers]
    replies = session.call([_request(unit) for unit in asked])
    found = {}
    for unit, raw in zip(asked, replies, strict=True):
        for register in unit.registers:
            at = 4 * (unit.addresses[register.name] - unit.group * SPAN)
            found[register.name] = int.from_bytes(raw[at : at + register.bits // 8], "little")
    return found


def _request(unit: Unit) -> Request:
    words = sum(register.words for register in unit.registers)
    return Request(SystemOpcode.REGISTERS, pack(ByteRange, first=unit.group * SPAN, count=words))


def read_identity(registers: Mapping[str, int], *, url: str, backend: str) -> Info:
    """The identity in a device's registers, by name."""
    built = [unit for unit in UNITS.values() if registers["units"] >> unit.group & 1]
    return Info(
        url=url,
        backend=backend,
        preset=_preset(registers),
        protocol=registers["protocol"],
        build=registers["build"],
        payload=registers["payload"],
        window=registers["window"],
        formats=tuple(f.name for f in FormatCode if registers["formats"] >> f & 1),
        units={
            unit.name: {own.name: registers[own.name] for own in unit.registers if own.constant}
            for unit in built
            if unit.name not in ALWAYS
        },
    )


def check_identity(registers: Mapping[str, int], wanted: Configuration, url: str) -> None:
    """Refuse whatever is not a coprocessor of this protocol and configuration.

    Raises
    ------
    ProtocolMismatchError
        The message names what was found and what was wanted.
    """
    _check_protocol(registers, url)
    expected = wanted.build_id()
    if registers["build"] != expected:
        raise ProtocolMismatchError(
            f"{_built_with(registers, url)}; "
            f"device preset {wanted.preset!r}, build {expected:#010x} was asked for"
        )


def find_configuration(registers: Mapping[str, int], url: str) -> Configuration:
    """The device preset that a device says it was built with.

    Raises
    ------
    ProtocolMismatchError
        If it is no coprocessor of this protocol, or its build is of no device preset that is known
        here.
    """
    _check_protocol(registers, url)
    for preset in PRESETS.values():
        if preset.build_id() == registers["build"]:
            return preset
    raise ProtocolMismatchError(
        f"{_built_with(registers, url)}; its configuration must be given, since it is of none "
        f"of {', '.join(PRESETS)}"
    )


def _check_protocol(registers: Mapping[str, int], url: str) -> None:
    if registers["magic"] != MAGIC:
        raise ProtocolMismatchError(
            f"{url} is no coprocessor: magic must be {MAGIC:#010x}, not {registers['magic']:#010x}"
        )
    if registers["protocol"] != PROTOCOL_VERSION:
        raise ProtocolMismatchError(
            f"{url} speaks protocol version {registers['protocol']}; "
            f"this driver needs version {PROTOCOL_VERSION}"
        )


def _built_with(registers: Mapping[str, int], url: str) -> str:
    preset, build = _preset(registers), registers["build"]
    return f"{url} was built with device preset {preset!r}, build {build:#010x}"


def _preset(registers: Mapping[str, int]) -> str:
    return registers["preset"].to_bytes(8, "little").rstrip(b"\0").decode("ascii", "replace")
