"""Options of a run that must fit each other, or what they are taken for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from .option import check, check_left_out, described
from .presets import check_preset

if TYPE_CHECKING:
    from .options import TrainingOptions

__all__ = ["check_fit"]

#: Options that have no effect beside another: when they have, and what is said where they have not.
_IDLE: dict[str, tuple[Callable[["TrainingOptions"], bool], str]] = {
    "penalty": (lambda own: own.precision == "dynamic", "where precision is fixed"),
    "threshold_rate": (lambda own: own.precision == "dynamic", "where precision is fixed"),
    "momentum_correction": (lambda own: own.momentum > 0, "where there is no momentum"),
    "offload_every": (lambda own: own.offload == "forward", "where nothing is offloaded"),
}


def check_fit(options: "TrainingOptions") -> None:
    """See to it that a run can be asked for these options.

    Raises
    ------
    TypeError, ValueError
        If not; the message names the option, what it must be, and what it is.
    """
    check(options)
    check_preset(options.preset)
    check_left_out(options, options.preset)
    _check_idle(options)
    _check_parts(options)
    if not options.name or "/" in options.name or options.name.startswith("."):
        raise ValueError(f"name must be a plain folder name, not {options.name!r}")
    if options.cadence_max & (options.cadence_max - 1):
        raise ValueError(f"cadence_max must be a power of two, not {options.cadence_max}")
    if options.epoch_steps % options.longest_cadence:
        raise ValueError(
            f"epoch_steps must be a multiple of cadence_max ({options.cadence_max}), "
            f"not {options.epoch_steps}"
        )
    if options.learning_rate <= 0:
        raise ValueError(f"learning_rate must be above 0, not {options.learning_rate}")
    if options.decides_cadences and options.learning_rate > options.cap:
        raise ValueError(
            f"learning_rate must be at most cap ({options.cap}), not {options.learning_rate}"
        )


def _check_idle(options: "TrainingOptions") -> None:
    """Make sure that options without effect beside others have their default values."""
    declared = described(options)
    for name, (has_effect, where) in _IDLE.items():
        value = getattr(options, name)
        if value != declared[name][0].default and not has_effect(options):
            raise ValueError(f"{name} must be left out {where}, not {value!r}")


def _check_parts(options: "TrainingOptions") -> None:
    """Have the parts of the training check what belongs to them."""
    if options.bits and not 4 <= options.bits <= 32:
        raise ValueError(f"bits must be from 4 to 32, or 0, not {options.bits:g}")
    if options.granular:
        lowest, _ = options.policy.bounds
        if 0 < options.bits < lowest.bits:
            raise ValueError(
                f"bits must be at least {lowest.bits} with precision {lowest.name}, not "
                f"{options.bits:g}"
            )
    _ = options.compression
    _ = options.speculation
