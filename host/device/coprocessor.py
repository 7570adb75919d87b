"""The driver: one :class:`Coprocessor`, whatever is behind its url."""

from collections.abc import Sequence
from functools import cached_property

import torch

from adagrain.models.difference import Difference
from adagrain.models.interface.precision import Precision, precision_of
from adagrain.models.interface.units import GRANULARITY_UNIT, SYSTEM
from adagrain.models.numerics.matrices import Matrix
from adagrain.models.statistics import Statistics

from .chain import Chain, Layer
from .codec_calls import CodecCalls
from .identity import Info
from .passes import Passes
from .product import Product, Progress, multiply, spent
from .region_calls import RegionCalls
from .scales import Scales
from .selftest import Report, selftest

__all__ = ["Coprocessor", "Info"]


class Coprocessor(CodecCalls, RegionCalls):
    """A device, and the operations of its units.

    Results are bit-identical whatever the transport. Whatever happens to the device is dealt with
    as :class:`~adagrain.host.device.connection.Connection` says, which also has the parameters.
    """

    def statistics(
        self, x: torch.Tensor, exponent: int | None = None, histogram: bool = False
    ) -> Statistics:
        """Counts, extremes, exact power sums and, if asked for, the histogram of a tensor.

        Parameters
        ----------
        x : Tensor
            Any shape and strides, at least one element, of a format that the device was built with.
        exponent : int or None
            Shared exponent E, -126 to 127: elements are rounded to multiples of 2^(E-14).
            ``None``: the largest exponent of ``x``, found by a pass of its own.
        histogram : bool
            Whether to fill and read the 64 bins.

        Raises
        ------
        TypeError, ValueError
            If the tensor's type, its size or the exponent is out of range, or the build has no
            histogram.
        DeviceError
            If the device fails.
        """
        return self._passes.one(x, exponent, histogram=histogram)

    def statistics_of(
        self, tensors: Sequence[torch.Tensor], exponents: Sequence[int]
    ) -> list[Statistics]:
        """Statistics of several tensors, each with an exponent of its own, in one call.

        The same as one call of :meth:`statistics` for each. Golden models in this process take it
        without frames, as :attr:`backend` says; on any other device the passes follow each other
        through the session's window.

        Parameters
        ----------
        tensors : sequence of Tensor
            As in :meth:`statistics`.
        exponents : sequence of int
            The shared exponent of each.

        Raises
        ------
        TypeError, ValueError
            As :meth:`statistics`; or if there are not as many exponents as tensors.
        DeviceError
            If the device fails.
        """
        return self._passes.several(tensors, exponents)

    def difference(
        self, a: torch.Tensor, b: torch.Tensor, exponent: int | None = None
    ) -> Difference:
        """Difference of a guess from the truth: exact sums, largest ones, bitwise equality.

        Parameters
        ----------
        a, b : Tensor
            Guess and truth: of one shape and type, of a format that the device was built with, at
            least one element and fewer than 2^31.
        exponent : int or None
            Shared exponent E, -126 to 127: elements are rounded to multiples of 2^(E-14).
            ``None``: the largest exponent of ``b``, found by a pass of its own.

        Raises
        ------
        TypeError, ValueError
            If the tensors' types, shapes or sizes do not fit, the exponent is out of range, or the
            build has no such unit.
        DeviceError
            If the device fails.
        """
        return self._passes.difference(a, b, exponent)

    def run_pass(self, unit: str, tensors: Sequence[torch.Tensor], **fields: int) -> dict[str, int]:
        """One pass of any unit that takes tensors, as its descriptor has it; its record.

        Parameters
        ----------
        unit : str
            Its name.
        tensors : sequence of Tensor
            As many as the unit takes, of one shape and type, as in :meth:`statistics`.
        fields
            What the unit's record of the beginning has beside the tensor.

        Raises
        ------
        TypeError, ValueError
            If the build has no such unit, or tensors or fields do not fit.
        DeviceError
            If the device fails, or the unit refuses the fields.
        """
        return self._passes.run(unit, tensors, fields)

    def matmul(
        self,
        a: Matrix,
        b: Matrix,
        precision: Precision | str,
        scales: Scales | None = None,
        progress: Progress = lambda done, of: None,
        *,
        to: Precision | str | None = None,
        to_scale: float = 1.0,
    ) -> Product:
        """The product of two matrices, as :func:`adagrain.models.numerics.matmul.matmul` has it.

        Parameters
        ----------
        a : Tensor, array or nested lists, shape (m, k)
            float32, float16, or int8, as the precision has it; INT4 is int8 from -8 to 7. Numbers
            in lists become that, as :func:`adagrain.models.numerics.matrices.matrices` says.
        b : Tensor, array or nested lists, shape (k, n)
            The same.
        precision : Precision or str
            How it is computed.
        scales : Scales or None
            What integers of ``a``, and those of ``b`` or of each of its columns, are multiples
            of: powers of two. Each multiple of a sum is rounded once, to float32. ``None``: the
            sums come back as int32.
        progress : callable
            Called with how many parts of the product are done, and of how many.
        to : Precision, str or None
            In which precision the product, with its scales, comes back: the device rounds each
            exact multiple of a sum once, and sends them packed, as float32, float16, or int8
            from -127 to 127 (INT4: from -7 to 7), clamped.
        to_scale : float
            What these numbers are multiples of: a power of two.

        Raises
        ------
        TypeError, ValueError
            If operands or scales do not fit, or the build has no granularity unit, or none of
            this precision.
        DeviceError
            If the device fails.
        """
        return multiply(
            *(a, b, precision_of(precision), scales),
            to=None if to is None else precision_of(to, "to"),
            to_scale=to_scale,
            configuration=self.configuration,
            execute=self._tiles.execute,
            counters=self._clock,
            progress=progress,
        )

    def chain(
        self,
        a: Matrix,
        layers: Sequence[Layer],
        precision: Precision | str,
        scale: float = 1.0,
    ) -> Product:
        """Products that follow each other, whose numbers in between stay on the device.

        The same numbers as :meth:`matmul` gives with ``to`` and ``to_scale`` of each layer, one
        after the other; the flags are those of the last one.

        Parameters
        ----------
        a : Tensor, array or nested lists, shape (m, k)
            What goes in, as for :meth:`matmul`.
        layers : sequence of Layer
            What it is multiplied with, layer by layer. All matrices must fit into the operand
            memories at once.
        precision : Precision or str
            Of ``a``; that of the other layers is what the one before leaves.
        scale : float
            What integers of ``a`` are multiples of: a power of two.

        Raises
        ------
        TypeError, ValueError
            If operands or scales do not fit each other or the memories, or the build has no
            granularity unit, or none of a precision.
        DeviceError
            If the device fails.
        """
        chain = Chain(a, layers, precision_of(precision), scale, self.configuration)
        before = self._clock()
        answer = self._tiles.execute(chain)
        values, flags = chain.place(answer.records)
        cycles, busy = spent(before, self._clock())
        return Product(values, flags, cycles, busy, answer.moved, chain.scale, answer.kept)

    def selftest(self, seed: int = 0) -> Report:
        """Compare the device with the golden models; see :mod:`adagrain.host.device.selftest`.

        A device that fails is not replaced meanwhile.
        """
        with self._recovery.as_it_is():
            return selftest(self, seed=seed)

    @cached_property
    def _passes(self) -> Passes:
        return Passes(self.configuration, self._session, self._recovery)

    def _clock(self) -> dict[str, int]:
        """Counters that tell how long the granularity unit was at work, and on which device."""
        read = self._registers(SYSTEM, GRANULARITY_UNIT)
        return read | dict(self._recovery.counters)
