"""Components compiled by Verilator, in process."""

from .demand import check_silence, demand
from .library import BuildError
from .unit import CompiledUnit, DeadlockError, Run, Stop

__all__ = ["BuildError", "CompiledUnit", "DeadlockError", "Run", "Stop", "check_silence", "demand"]
