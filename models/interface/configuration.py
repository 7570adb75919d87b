"""Configuration of a device: one frozen dataclass and its device presets."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any

from .codec import BLOCK
from .formats import STREAMED, FormatCode
from .precision import Precision, check_precisions
from .records import size
from .units import ALWAYS, UNITS, Unit
from .units.granularity_unit import ROWS, TileResult
from .units.region_manager import RegionRecord

__all__ = ["PRESETS", "Configuration", "configuration"]

#: Cycles for which no sound unit keeps silent that neither fills a block with zeros nor waits for
#: runs: the longest is the sweep of a histogram.
_USUAL_SILENCE = 2048

#: Cycles that a word of a run takes, at most: one of FP32, of a single row.
_RUN_CYCLES = 8

#: A power of two of them, whose words 16 bits can address.
_MOST_REGIONS = 1 << ((1 << 16) * 8 // size(RegionRecord)).bit_length() - 1


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Everything that decides what is built; gateware, model and driver derive from it.

    Parameters
    ----------
    preset : str
        Name of the device preset, under which the device reports itself; at most 8 ASCII
        characters.
    lanes : int
        Elements that the tensor units take per cycle: 1, 2 or 4.
    formats : tuple of FormatCode
        Element formats that are accepted; FP32 always is.
    powers : int
        Highest power sum that ``statistics`` computes: 2 or 4.
    regions : int
        Records in the region table: a power of two, at most 8192, whose words 16 bits address.
    payload : int
        Longest payload of a frame in bytes: a power of two, from 256 to 4096, which each unit's
        records fit.
    window : int
        Commands in flight, and replies kept for repeats: a power of two, at most 16.
    decision_cycles : int
        Most cycles that ``region_manager`` may take per region, at least 64; a promise that tests
        check.
    units : tuple of str
        Names of the units that are built; ``statistics`` always is.
    histogram : bool
        Whether ``statistics`` has its histogram.
    slices : int
        Slices of the granularity unit, at most 16; 0 where it is not built.
    operands : int
        Words of each of its operand memories: a power of two, from 64 to 4096.
    precisions : tuple of Precision
        What it computes in: all four, or those of integers, which a small FPGA has room for.
    watchdog : int
        Cycles without progress after which a request is ended, and its unit reset: from twice
        :attr:`longest_silence` to 2**24.

    Raises
    ------
    ValueError
        If a value is out of its range; the message names the value and the range.
    """

    preset: str
    lanes: int
    formats: tuple[FormatCode, ...]
    powers: int
    regions: int
    payload: int
    window: int
    decision_cycles: int = 64
    units: tuple[str, ...] = ("statistics", "region_manager")
    histogram: bool = True
    slices: int = 0
    operands: int = 1024
    precisions: tuple[Precision, ...] = tuple(Precision)
    watchdog: int = 1 << 18

    def __post_init__(self) -> None:
        name = self.preset
        if not (isinstance(name, str) and name.isascii() and 1 <= len(name) <= 8):
            raise ValueError(f"device preset must be 1 to 8 ASCII characters, not {name!r}")
        self._check_members("formats", FormatCode, FormatCode.FP32)
        self._check_units()
        self._check_members("precisions", Precision)
        strange = [code.name for code in self.formats if code not in STREAMED]
        if strange:
            known = ", ".join(code.name for code in STREAMED)
            raise ValueError(f"formats must be of {known}, not {strange[0]}")
        check_precisions(self.precisions)
        self._check("lanes", "1, 2 or 4", lambda lanes: lanes in (1, 2, 4))
        self._check("powers", "2 or 4", lambda powers: powers in (2, 4))
        self._check_power("regions", 1, _MOST_REGIONS)
        self._check_power("payload", 256, 4096)
        self._check_payload()
        self._check_power("window", 1, 16)
        self._check_power("operands", 64, 4096)
        self._check_range("decision_cycles", 64, 65536)
        self._check_range("watchdog", 2 * self.longest_silence, 1 << 24, " with these units")
        if "granularity_unit" in self.units:
            self._check_range("slices", 1, self._most_slices(), " with this payload")
        else:
            self._check("slices", "0 without the granularity unit", lambda slices: slices == 0)

    @property
    def longest_silence(self) -> int:
        """Cycles for which no sound unit keeps silent, but where its data port lets it wait.

        A decoder fills a block with zeros, ``lanes`` in a cycle. Operands that are to enter the
        memories wait for a run that came before, and so does a block that is to leave by its port.
        """
        zeros = BLOCK // self.lanes if "decoder" in self.units else 0
        run = _RUN_CYCLES * self.operands if "granularity_unit" in self.units else 0
        return _USUAL_SILENCE + zeros + run

    def built(self) -> tuple[Unit, ...]:
        """Units that are built, and those that every device has, in the order of their groups."""
        return tuple(unit for unit in UNITS.values() if unit.name in (*ALWAYS, *self.units))

    def constants(self) -> dict[str, int]:
        """The registers that depend on what was built alone, by name."""
        return {
            register.name: register.constant(self)
            for unit in self.built()
            for register in unit.registers
            if register.constant
        }

    def _most_slices(self) -> int:
        memories = 65536 // self.operands  # that 16 bits can address
        return min(16, memories - 1, self.payload // (ROWS * size(TileResult)))

    def _check(self, name: str, wanted: str, fits: Callable[[int], bool]) -> None:
        """Demand a plain integer: others, though equal, would make another ``build_id``."""
        value = getattr(self, name)
        if type(value) is not int or not fits(value):
            raise ValueError(f"{name} must be {wanted}, not {value!r}")

    def _check_range(self, name: str, low: int, high: int, where: str = "") -> None:
        self._check(name, f"from {low} to {high}{where}", lambda value: low <= value <= high)

    def _check_power(self, name: str, low: int, high: int) -> None:
        self._check(
            name,
            f"a power of two from {low} to {high}",
            lambda value: low <= value <= high and value & (value - 1) == 0,
        )

    def _check_payload(self) -> None:
        """Demand that what units take and answer fits: a reply that does not would not end."""
        for unit in self.built():
            for what, needed in unit.lengths.items():
                if needed > self.payload:
                    raise ValueError(
                        f"payload must be at least {needed} for the {what} of {unit.name}, "
                        f"not {self.payload}"
                    )

    def _check_members(self, name: str, kind: type[IntEnum], needed: IntEnum | None = None) -> None:
        members = getattr(self, name)
        if not (isinstance(members, tuple) and all(type(member) is kind for member in members)):
            raise ValueError(f"{name} must be a tuple of {kind.__name__}, not {members!r}")
        if needed is not None and (needed not in members or len({*members}) != len(members)):
            raise ValueError(f"{name} must be distinct and contain {needed.name}, not {members!r}")

    def _check_units(self) -> None:
        names = [name for name in UNITS if name not in ALWAYS]
        if not isinstance(self.units, tuple):
            raise ValueError(f"units must be a tuple of names, not {self.units!r}")
        if not isinstance(self.histogram, bool):
            raise ValueError(f"histogram must be True or False, not {self.histogram!r}")
        for name in self.units:
            if name not in names:
                raise ValueError(
                    f"unit must be one of {', '.join(names)}, or of a module that ADAGRAIN_UNITS "
                    f"names, not {name!r}"
                )
            for need in UNITS[name].needs:
                if need not in self.units:
                    raise ValueError(f"units must contain {need!r}, which {name!r} needs")
            for code in UNITS[name].formats:
                if code not in self.formats:
                    raise ValueError(f"formats must contain {code.name}, which {name!r} needs")
        if "statistics" not in self.units or len({*self.units}) != len(self.units):
            raise ValueError(f"units must be distinct and contain 'statistics', not {self.units}")

    def build_id(self) -> int:
        """32 bits that name this configuration; the driver compares them with its own."""
        text = repr(sorted(asdict(self).items()))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


_SMALL = Configuration(
    preset="small",
    lanes=2,
    formats=(FormatCode.FP32, FormatCode.FP16, FormatCode.BF16),
    powers=4,
    regions=256,
    payload=1024,
    window=4,
    units=("statistics", "region_manager", "difference", "encoder", "decoder"),
)
_FULL = replace(_SMALL, preset="full", lanes=4, regions=1024)
_GRANULAR = replace(
    _SMALL,
    preset="granular",
    units=(
        *("statistics", "region_manager", "difference"),
        *("granularity_unit", "precision_controller"),
    ),
    slices=4,
    operands=4096,
)

#: By name. ``granular`` is small enough to be simulated; ``wide`` is the same for a board;
#: ``whole`` has all units.
PRESETS: dict[str, Configuration] = {
    row.preset: row
    for row in (
        Configuration(
            preset="tiny",
            lanes=1,
            formats=(FormatCode.FP32, FormatCode.BF16),
            powers=2,
            regions=64,
            payload=256,
            window=2,
            decision_cycles=256,
            units=("statistics",),
            histogram=False,
        ),
        _SMALL,
        _FULL,
        _GRANULAR,
        replace(_GRANULAR, preset="wide", slices=10),
        replace(
            _GRANULAR, preset="whole", regions=1024, units=(*_GRANULAR.units, "encoder", "decoder")
        ),
    )
}


def configuration(preset: str, **changes: Any) -> Configuration:
    """A device preset, with some fields replaced.

    Raises
    ------
    ValueError
        If there is no such device preset, or a changed value is out of range.
    """
    if preset not in PRESETS:
        raise ValueError(f"device preset must be one of {', '.join(PRESETS)}, not {preset!r}")
    return replace(PRESETS[preset], **changes)
