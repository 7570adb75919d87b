"""Matrix products on the device."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.precision import Precision, names
from adagrain.models.numerics.matmul import packed_rows, to_tensor
from adagrain.models.numerics.matrices import Matrix, matrices
from adagrain.models.numerics.surroundings import exactly
from adagrain.models.rescale import rescale

from .rescaling import Rescaling
from .scales import Scales, exponents_of
from .tile_unit import Answer
from .tiles import Job, jobs

__all__ = ["Product", "Progress", "check_built", "multiply", "spent"]

Progress = Callable[[int, int], None]

#: Counters of resets, in whole or in part, and of replacements: a device counts anew then.
_ANEW = ("restored", "hangs", "breaks_sent", "fallbacks")


@dataclass(frozen=True)
class Product:
    """A product that the device has computed.

    Attributes
    ----------
    values : Tensor, shape (m, n)
        float32, float16, or int32; with scales float32. Where the device rescales, float32,
        float16, or int8.
    flags : Tensor of uint8, shape (m, n)
        The :class:`~adagrain.models.arithmetic.float.Flag` of each element's sum, or of the packed
        word in which the device sent it. Scales raise what rounding to single precision raises, as
        well.
    cycles : int
        Clock cycles of the device from the first command to the last; 0 where it has no clock, or
        was reset or replaced on the way.
    busy : int
        Clock cycles in which the slices multiplied, as the device counts them; golden models
        count as gateware does. 0 where it was reset or replaced on the way.
    bytes_moved : int
        Bytes of commands with their operands, of replies and results, without frames and repeats.
    scale : float
        What the values are multiples of: 1, unless another one was asked for.
    kept : int
        Flags that numbers in between have raised, in a chain of products.
    """

    values: torch.Tensor
    flags: torch.Tensor
    cycles: int
    busy: int
    bytes_moved: int
    scale: float
    kept: int = 0


@exactly()
def multiply(
    a: Matrix,
    b: Matrix,
    precision: Precision,
    scales: Scales | None,
    *,
    to: Precision | None,
    to_scale: float,
    configuration: Configuration,
    execute: Callable[[Job], Answer],
    counters: Callable[[], Mapping[str, int]],
    progress: Progress,
) -> Product:
    """:meth:`Coprocessor.matmul` on the device that executes jobs.

    Parameters
    ----------
    execute : callable
        The results of a job.
    counters : callable
        The device's counters.
    """
    if not configuration.slices:
        raise ValueError(
            "matmul needs a build with a granularity unit: device preset "
            f"{configuration.preset!r} has no slices"
        )
    check_built(precision, configuration)
    left, right = matrices(a, b, precision)
    exponents = exponents_of(scales, right.shape[1], precision)
    if to is not None:
        check_built(to, configuration, "to")
    elif not np.array_equal(to_scale, 1):
        raise ValueError(f"to_scale must be 1 where to is None, not {to_scale!r:.60}")
    rescaling = None if to is None else Rescaling.of(to, to_scale, exponents)
    rows, columns = packed_rows(left, precision), packed_rows(right.t(), precision)
    sizes = {"slices": configuration.slices, "operands": configuration.operands}
    parts = jobs(rows, columns, precision, rescaling, **sizes)
    words = np.zeros((len(rows), len(columns)), dtype=np.int64)
    flags = np.zeros(words.shape, dtype=np.uint8)
    bytes_moved, before = 0, counters()
    for done, job in enumerate(parts, start=1):
        answer = execute(job)
        job.place(answer.records, words, flags)
        bytes_moved += answer.moved
        progress(done, len(parts))
    cycles, busy = spent(before, counters())
    if rescaling is not None:
        values = rescaling.tensor(words)
    elif scales is None:
        values = to_tensor(words, precision)
    else:  # as the device would, but for any scales
        words, raised = rescale(words, precision, exponents, Precision.FP32)
        values, flags = to_tensor(words, Precision.FP32), flags | raised.astype(np.uint8)
    return Product(
        values,
        torch.from_numpy(flags),
        cycles=cycles,
        busy=busy,
        bytes_moved=bytes_moved,
        scale=1.0 if rescaling is None else rescaling.scale,
    )


def spent(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[int, int]:
    """Clock cycles between two looks at a device's counters, and those that it multiplied in.

    0 where it was reset or replaced meanwhile.
    """
    if any(after[name] != before[name] for name in _ANEW):
        return 0, 0
    busy = (after["tile_words"] - before["tile_words"]) % (1 << 32)
    return after["cycles"] - before["cycles"], busy


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
            f"{name} must be one of {names(configuration.precisions)} on device preset "
            f"{configuration.preset!r}, not {precision.name}"
        )
