"""Matrix products on the device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from adagrain.models.configuration import Configuration
from adagrain.models.matmul import check_operands, packed_rows, to_tensor
from adagrain.models.precision import Precision, names

from .tiles import Job, jobs

__all__ = [
    "Product",
    "Progress",
    "Scales",
    "check_built",
    "multiply",
    "precision_of",
    "rescaled",
]

#: A scale of ``a``, and one of ``b`` or one for each of its columns.
Scales = tuple[float, float | Sequence[float] | torch.Tensor]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Product:
    """A product that the device has computed.

    Attributes
    ----------
    values : Tensor, shape (m, n)
        float32, float16, or int32; with scales float32.
    flags : Tensor of uint8, shape (m, n)
        The :class:`~adagrain.models.float.Flag` of each element's sum.
    cycles : int
        Clock cycles of the device from the first command to the last; 0 where it has no clock.
    octets : int
        Operands and commands that the device was given, without frames and repeats.
    """

    values: torch.Tensor
    flags: torch.Tensor
    cycles: int
    octets: int


def multiply(
    a: torch.Tensor,
    b: torch.Tensor,
    precision: Precision,
    scales: Scales | None,
    *,
    configuration: Configuration,
    execute: Callable[[Job], list[bytes]],
    clock: Callable[[], int],
    progress: Progress,
) -> Product:
    """What :meth:`Coprocessor.matmul` does, on the device that executes jobs.

    Parameters
    ----------
    execute : callable
        The device's replies to a job.
    clock : callable
        Clock cycles of the device so far.
    """
    if not configuration.slices:
        raise ValueError(
            "matmul needs a build with a granularity unit: preset "
            f"{configuration.preset!r} has no slices"
        )
    check_built(precision, configuration)
    check_operands(a, b, precision)
    check_scales(b.shape[1], precision, scales)
    rows, columns = packed_rows(a, precision), packed_rows(b.t(), precision)
    sizes = {"slices": configuration.slices, "operands": configuration.operands}
    parts = jobs(rows, columns, precision, **sizes)
    values = np.zeros((len(rows), len(columns)), dtype=np.int64)
    flags = np.zeros(values.shape, dtype=np.uint8)
    began = clock()
    for done, job in enumerate(parts, start=1):
        job.place(execute(job), values, flags)
        progress(done, len(parts))
    cycles, octets = clock() - began, sum(job.octets() for job in parts)
    sums = rescaled(to_tensor(values, precision), scales)
    return Product(sums, torch.from_numpy(flags), cycles, octets)


def precision_of(precision: Precision | str) -> Precision:
    """A precision by its name.

    Raises
    ------
    ValueError
        If there is no such precision.
    """
    if isinstance(precision, Precision):
        return precision
    if precision not in Precision.__members__:
        raise ValueError(f"precision must be one of {names(Precision)}, not {precision!r}")
    return Precision[precision]


def check_built(precision: Precision, configuration: Configuration) -> None:
    """Make sure that a build computes in a precision.

    Raises
    ------
    ValueError
        If it does not.
    """
    if precision not in configuration.precisions:
        raise ValueError(
            f"precision must be one of {names(configuration.precisions)} on preset "
            f"{configuration.preset!r}, not {precision.name}"
        )


def check_scales(columns: int, precision: Precision, scales: Scales | None) -> None:
    """Make sure that scales are powers of two, and as many as are needed.

    Raises
    ------
    ValueError
        If they are not, or numbers of this precision have no scales.
    """
    if scales is None:
        return
    if not precision.integer:
        raise ValueError(f"scales must be None for {precision.name}: its numbers have exponents")
    a, b = (torch.as_tensor(scale, dtype=torch.float64) for scale in scales)
    if a.numel() != 1 or b.numel() not in (1, columns):
        raise ValueError(
            f"scales must be one of a, and one or {columns} of b, not {a.numel()} and {b.numel()}"
        )
    for scale in (a, b):
        wrong = scale[(scale <= 0) | ~scale.isfinite() | (scale.frexp().mantissa != 0.5)]
        if wrong.numel():
            raise ValueError(f"scale must be a positive power of two, not {wrong[0].item():g}")


def rescaled(values: torch.Tensor, scales: Scales | None) -> torch.Tensor:
    """Sums of integers times the scales of their operands, as float32.

    Each sum is rounded to float32, to nearest even; the scales only move its exponent, down to
    subnormal numbers, which are rounded too.

    Parameters
    ----------
    values : Tensor, shape (m, n)
        Sums.
    scales : Scales or None
        Sound ones; ``None``: the sums stay what they are.
    """
    if scales is None:
        return values
    a, b = (torch.as_tensor(scale, dtype=torch.float64) for scale in scales)
    return (values.float().double() * (a * b)).float()
