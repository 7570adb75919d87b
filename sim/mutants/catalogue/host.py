"""Mutants of the host."""

from .mutant import Mutant, tested

__all__ = ["MUTANTS"]

_SESSION = tested("host/test_session.py")

MUTANTS = (
    Mutant(
        "sequences go on from 0 after 65534",
        "host/link/session.py",
        "self._next = (self._next + 1) & 0xFFFF",
        "self._next = (self._next + 1) % 0xFFFF",
        _SESSION,
    ),
    Mutant(
        "an answer after a repeat tells how long answers take",
        "host/link/session.py",
        "took = 0.0 if self._extensions else now - self._last_progress",
        "took = now - self._last_progress",
        _SESSION,
    ),
    Mutant(
        "only the last of a step's decisions is compared",
        "host/distributed/decide.py",
        "decision.values() for decision in decisions)",
        "decision.values() for decision in decisions[-1:])",
        tested("host/test_lockstep.py", "decisions_differ"),
    ),
    Mutant(
        "Nesterov's correction is not ahead",
        "host/compression/feedback.py",
        "own.add(velocity, alpha=self._momentum)",
        "own.add(velocity)",
        tested("host/test_compression_parts.py", "momentum"),
    ),
)
