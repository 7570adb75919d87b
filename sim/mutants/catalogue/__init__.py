"""The bugs that are planted, a file per unit: what a tired engineer might write."""

from . import (
    commands,
    difference,
    dot_product,
    float,
    granularity_unit,
    host,
    link,
    models,
    precision_controller,
    region_manager,
    rescale,
    slice,
    statistics,
    uart,
)
from .mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

#: In the order of the data flow.
_UNITS = (
    uart,
    link,
    commands,
    float,
    slice,
    dot_product,
    granularity_unit,
    rescale,
    precision_controller,
    statistics,
    difference,
    region_manager,
    models,
    host,
)

MUTANTS: tuple[Mutant, ...] = tuple(mutant for unit in _UNITS for mutant in unit.MUTANTS)
