"""Mutants of golden models, which gateware may well share."""

from .mutant import Mutant, tested

__all__ = ["MUTANTS"]

MUTANTS = (
    Mutant(
        "the last bin of the histogram forgets the energy of small numbers",
        "models/statistics/statistics.py",
        "energy >>= 2",
        "energy >>= 3",
        tested("models/test_statistics.py", "last_bin or histogram_equals"),
    ),
    Mutant(
        "a precision's change lasts one update less",
        "models/precision_controller/table.py",
        "record.dwell_length if switched else",
        "max(0, record.dwell_length - 1) if switched else",
        tested("models/test_precision_controller.py", "restatement"),
    ),
    Mutant(
        "a threshold is passed by reaching it",
        "models/precision_controller/table.py",
        "normalised > threshold + record.hysteresis",
        "normalised >= threshold + record.hysteresis",
        tested("models/test_precision_controller.py", "restatement"),
    ),
)
