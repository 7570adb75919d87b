"""What a device says of itself in its first registers."""

from collections.abc import Mapping
from dataclasses import dataclass

from adagrain.host.errors import ProtocolMismatchError
from adagrain.host.link.session import Request, Session
from adagrain.models.device.commands import identity
from adagrain.models.interface.configuration import PRESETS, Configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.protocol import MAGIC, PROTOCOL_VERSION, REGISTERS, Opcode, Unit

__all__ = ["Info", "check_identity", "find_configuration", "read_identity", "read_registers"]


@dataclass(frozen=True)
class Info:
    """What answered, and what it was built with."""

    url: str
    backend: str
    preset: str
    protocol: int
    build: int
    units: tuple[str, ...]
    formats: tuple[str, ...]
    lanes: int
    powers: int
    regions: int
    payload: int
    window: int
    slices: int


def read_registers(session: Session) -> dict[str, int]:
    """All registers of the device that a session is with, by name."""
    (octets,) = session.call([Request(Opcode.READ_REGISTERS, bytes([0, len(REGISTERS)]))])
    values = (int.from_bytes(octets[at : at + 4], "little") for at in range(0, len(octets), 4))
    return dict(zip(REGISTERS, values, strict=True))


def read_identity(registers: Mapping[str, int], *, url: str, backend: str) -> Info:
    """The identity in a device's registers, by name."""
    name = registers["preset_low"] | registers["preset_high"] << 32
    return Info(
        url=url,
        backend=backend,
        preset=name.to_bytes(8, "little").rstrip(b"\0").decode("ascii", "replace"),
        protocol=registers["protocol"],
        build=registers["build"],
        units=tuple(u.name.lower() for u in Unit if registers["units"] >> u & 1),
        formats=tuple(f.name for f in FormatCode if registers["formats"] >> f & 1),
        lanes=registers["lanes"] & 0xFF,
        powers=registers["lanes"] >> 8 & 0xFF,
        regions=registers["regions"],
        payload=registers["payload"],
        window=registers["lanes"] >> 16 & 0xFF,
        slices=registers["slices"] & 0xFF,
    )


def check_identity(registers: Mapping[str, int], wanted: Configuration, url: str) -> None:
    """Refuse whatever is not a coprocessor of this protocol and configuration.

    Raises
    ------
    ProtocolMismatchError
        The message names what was found and what was wanted.
    """
    _check_protocol(registers, url)
    expected = identity(wanted)["build"]
    if registers["build"] != expected:
        raise ProtocolMismatchError(
            f"{_built_with(registers, url)}; "
            f"preset {wanted.preset!r}, build {expected:#010x} was asked for"
        )


def find_configuration(registers: Mapping[str, int], url: str) -> Configuration:
    """The preset that a device says it was built with.

    Raises
    ------
    ProtocolMismatchError
        If it is no coprocessor of this protocol, or its build is of no preset that is known here.
    """
    _check_protocol(registers, url)
    for preset in PRESETS.values():
        if identity(preset)["build"] == registers["build"]:
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
    found = read_identity(registers, url=url, backend="")
    return f"{url} was built with preset {found.preset!r}, build {found.build:#010x}"
