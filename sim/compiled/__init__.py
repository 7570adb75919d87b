"""Components compiled by Verilator, in process."""

from .demand import check_silence, demand
from .library import BuildError
from .outcome import DeadlockError, RetractionError, Run, Stop
from .unit import CompiledUnit

__all__ = [
    "BuildError",
    "CompiledUnit",
    "DeadlockError",
    "RetractionError",
    "Run",
    "Stop",
    "check_silence",
    "demand",
]
