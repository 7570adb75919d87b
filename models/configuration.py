"""What a device is built with: one frozen dataclass and its named presets."""

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import Any

from .formats import STREAMED, FormatCode
from .granularity_unit import ROWS
from .precision import Precision, check_precisions
from .protocol import Unit
from .records import TileResult, size

__all__ = ["LONGEST_SILENCE", "PRESETS", "Configuration", "configuration"]

#: Cycles for which no sound unit keeps silent, but where it waits for its data port: the longest
#: is the sweep of a histogram.
LONGEST_SILENCE = 2048


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Everything that decides what is built; gateware, model and driver derive from it.

    Parameters
    ----------
    preset : str
        Name under which the device reports itself; at most 8 ASCII characters.
    lanes : int
        Elements that the tensor units take per cycle: 1, 2 or 4.
    formats : tuple of FormatCode
        Element formats that are accepted; FP32 always is.
    powers : int
        Highest power sum that ``statistics`` computes: 2 or 4.
    regions : int
        Records in the region table: a power of two, at most 65536.
    payload : int
        Longest payload of a frame in bytes: a power of two, from 256 to 4096.
    window : int
        Commands in flight, and replies kept for repeats: a power of two, at most 16.
    decision_cycles : int
        Most cycles that ``region_manager`` may take per region; a promise that tests check.
    units : tuple of Unit
        What is built of the units; ``STATISTICS`` always is.
    slices : int
        Slices of the granularity unit, at most 16; 0: it is not built. It needs
        ``REGION_MANAGER``.
    operands : int
        Words of each of its operand memories: a power of two, from 64 to 4096.
    precisions : tuple of Precision
        What it computes in: all four, or those of integers, which a small FPGA has room for.
    watchdog : int
        Cycles without progress after which a request is ended, and its unit reset: from 4096 to
        2**24.

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
    units: tuple[Unit, ...] = tuple(Unit)
    slices: int = 0
    operands: int = 1024
    precisions: tuple[Precision, ...] = tuple(Precision)
    watchdog: int = 1 << 18

    def __post_init__(self) -> None:
        if not (self.preset.isascii() and 1 <= len(self.preset) <= 8):
            raise ValueError(f"preset must be 1 to 8 ASCII characters, not {self.preset!r}")
        if self.lanes not in (1, 2, 4):
            raise ValueError(f"lanes must be 1, 2 or 4, not {self.lanes!r}")
        if FormatCode.FP32 not in self.formats or len(set(self.formats)) != len(self.formats):
            raise ValueError(f"formats must be distinct and contain FP32, not {self.formats!r}")
        strange = [code.name for code in self.formats if code not in STREAMED]
        if strange:
            known = ", ".join(code.name for code in STREAMED)
            raise ValueError(f"formats must be of {known}, not {strange[0]}")
        if self.powers not in (2, 4):
            raise ValueError(f"powers must be 2 or 4, not {self.powers!r}")
        self._check_power("regions", 1, 65536)
        self._check_power("payload", 256, 4096)
        self._check_power("window", 1, 16)
        if self.decision_cycles < 1:
            raise ValueError(f"decision_cycles must be positive, not {self.decision_cycles!r}")
        if Unit.STATISTICS not in self.units or len(set(self.units)) != len(self.units):
            raise ValueError(f"units must be distinct and contain STATISTICS, not {self.units!r}")

        self._check_power("operands", 64, 4096)
        memories = 65536 // self.operands  # that 16 bits can address
        most = min(16, memories - 1, self.payload // (ROWS * size(TileResult)))
        if Unit.REGION_MANAGER not in self.units:
            most = 0
        if not 0 <= self.slices <= most:
            raise ValueError(
                f"slices must be from 0 to {most} with these units and this payload, "
                f"not {self.slices!r}"
            )
        check_precisions(self.precisions)
        self._check_range("watchdog", 2 * LONGEST_SILENCE, 1 << 24)

    def _check_range(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low} to {high}, not {value!r}")

    def _check_power(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if not (_power_of_two(value) and low <= value <= high):
            raise ValueError(f"{name} must be a power of two from {low} to {high}, not {value!r}")

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
)
_GRANULAR = replace(_SMALL, preset="granular", slices=4, operands=4096)

#: By name. ``granular`` is small enough to be simulated; ``wide`` is the same for a board.
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
            units=(Unit.STATISTICS,),
        ),
        _SMALL,
        Configuration(
            preset="full",
            lanes=4,
            formats=(FormatCode.FP32, FormatCode.FP16, FormatCode.BF16),
            powers=4,
            regions=1024,
            payload=1024,
            window=4,
        ),
        _GRANULAR,
        replace(_GRANULAR, preset="wide", slices=10),
    )
}


def configuration(preset: str, **changes: Any) -> Configuration:
    """A named preset, with some fields replaced.

    Raises
    ------
    ValueError
        If there is no such preset, or a changed value is out of range.
    """
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, not {preset!r}")
    return replace(PRESETS[preset], **changes)
