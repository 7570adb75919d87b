"""Mutants of `precision_controller`."""

from .mutant import Mutant, bench, compiled

__all__ = ["MUTANTS"]

MUTANTS = (
    Mutant(
        "a threshold is passed without hysteresis downwards",
        "hdl/precision_controller/precision_controller.py",
        "normalised + record.hysteresis >= t",
        "normalised >= t",
        bench("precision_controller", "many_channel_groups"),
    ),
    Mutant(
        "a variance at the threshold is above it",
        "hdl/precision_controller/precision_controller.py",
        "normalised > t + record.hysteresis",
        "normalised >= t + record.hysteresis",
        bench("precision_controller", "many_channel_groups"),
    ),
    Mutant(
        "a change does not last",
        "hdl/precision_controller/precision_controller.py",
        "Mux(switched, record.dwell_length, record.dwell - record.dwell.any())",
        "record.dwell - record.dwell.any()",
        bench("precision_controller", "many_channel_groups"),
    ),
    Mutant(
        "the ceiling prevails over the floor only from below",
        "hdl/precision_controller/precision_controller.py",
        "Mux(raised > high, high, raised)",
        "Mux(value > high, high, raised)",
        bench("precision_controller", "many_channel_groups"),
    ),
    Mutant(
        "records may be written past the table's end",
        "hdl/handler/access_commands.py",
        "self._outside(first, left)",
        "self._outside(first, 1)",
        compiled("coprocessor", "granular"),
    ),
)
