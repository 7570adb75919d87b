"""Matrix products on the device."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from adagrain.models.configuration import Configuration
from adagrain.models.matmul import check_operands, packed_rows, to_tensor
from adagrain.models.precision import Precision, names

from .rescaling import Rescaling
from .scales import Scales, check_scales, rescaled
from .tiles import Job, jobs

__all__ = ["Product", "Progress", "check_built", "multiply", "precision_of"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Product:
    """A product that the device has computed.

    Attributes
    ----------
    values : Tensor, shape (m, n)
        float32, float16, or int32; with scales float32. Where the device rescales, float32,
        float16, or int8.
    flags : Tensor of uint8, shape (m, n)
        The :class:`~adagrain.models.float.Flag` of each element's sum, or of the packed word in
        which the device sent it.
    cycles : int
        Clock cycles of the device from the first command to the last; 0 where it has no clock.
    octets : int
        Operands and commands that the device was given, without frames and repeats.
    scale : float
        What the values are multiples of: 1, unless another one was asked for.
    """

    values: torch.Tensor
    flags: torch.Tensor
    cycles: int
    octets: int
    scale: float


def multiply(
    a: torch.Tensor,
    b: torch.Tensor,
    precision: Precision,
    scales: Scales | None,
    *,
    to: Precision | None,
    to_scale: float,
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
    if to is not None:
        check_built(to, configuration, "to")
    if to is None and to_scale != 1:
        raise ValueError(f"to_scale must be 1 where to is None, not {to_scale:g}")
    rescaling = None if to is None else Rescaling.of(to, to_scale, scales, b.shape[1])
    rows, columns = packed_rows(a, precision), packed_rows(b.t(), precision)
    sizes = {"slices": configuration.slices, "operands": configuration.operands}
    parts = jobs(rows, columns, precision, rescaling, **sizes)
    values = np.zeros((len(rows), len(columns)), dtype=np.int64)
    flags = np.zeros(values.shape, dtype=np.uint8)
    began = clock()
    for done, job in enumerate(parts, start=1):
        job.place(execute(job), values, flags)
        progress(done, len(parts))
    cycles, octets = clock() - began, sum(job.octets() for job in parts)
    if rescaling is None:
        found = rescaled(to_tensor(values, precision), scales)
    else:
        found = rescaling.tensor(values)
    return Product(found, torch.from_numpy(flags), cycles, octets, to_scale)


def precision_of(precision: Precision | str, name: str = "precision") -> Precision:
    """A precision by its name; ``name`` is what it is for, in messages.

    Raises
    ------
    ValueError
        If there is no such precision.
    """
    if isinstance(precision, Precision):
        return precision
    if precision not in Precision.__members__:
        raise ValueError(f"{name} must be one of {names(Precision)}, not {precision!r}")
    return Precision[precision]


def check_built(
    precision: Precision, configuration: Configuration, name: str = "precision"
) -> None:
    """Make sure that a build computes in a precision; ``name`` is what it is for, in messages.

    Raises
    ------
    ValueError
        If it does not.
    """
    if precision not in configuration.precisions:
        raise ValueError(
            f"{name} must be one of {names(configuration.precisions)} on preset "
            f"{configuration.preset!r}, not {precision.name}"
        )
