"""Matrix products, and the mask generation network, by the granularity unit of a device."""

from collections.abc import Sequence
from operator import index

import numpy as np
import torch

from adagrain.models.arithmetic.float import Flag
from adagrain.models.interface.precision import Precision, precision_of
from adagrain.models.interface.units import GRANULARITY_UNIT, SYSTEM
from adagrain.models.mask import KeepTable
from adagrain.models.mask_network import FEATURE_SCALE, MaskLayers
from adagrain.models.mask_network.layers import LAYER_SCALE, with_one
from adagrain.models.numerics.matrices import Matrix

from .chain import Chain, Layer
from .connection import Connection
from .product import Product, Progress, multiply, spent
from .scales import Scales

__all__ = ["TileCalls"]


class TileCalls(Connection):
    """The operations of a device's granularity unit."""

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
        after the other; the flags are those of the last one. Where ``INVALID`` is raised in between
        and a layer of floating point does not fill the slices, they are computed so, once more.

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
        kept, moved = answer.kept, answer.moved
        if chain.is_padded and kept & Flag.INVALID:
            values, flags, kept, more = self._one_by_one(a, layers, precision, scale)
            moved += more
        else:
            values, flags = chain.place(answer.records)
        cycles, busy = spent(before, self._clock())
        return Product(values, flags, cycles, busy, moved, chain.scale, kept)

    def _one_by_one(
        self, a: Matrix, layers: Sequence[Layer], precision: Precision | str, scale: float
    ) -> tuple[torch.Tensor, torch.Tensor, int, int]:
        """A chain as products: its numbers and flags, those raised in between, and bytes moved."""
        raised = moved = 0
        for layer in layers:
            scales = (scale, layer.scale) if precision_of(precision).integer else None
            left = self.matmul(a, layer.b, precision, scales, to=layer.to, to_scale=layer.to_scale)
            kept, moved = raised, moved + left.bytes_moved
            raised |= int(np.bitwise_or.reduce(left.flags.numpy(), axis=None))
            a, precision, scale = left.values, layer.to, layer.to_scale
        return left.values, left.flags, kept, moved

    def keep_tables(
        self, layers: MaskLayers, seen: np.ndarray, exponents: Sequence[int]
    ) -> list[KeepTable]:
        """The keep-tables of some regions, which the device computes and its encoder takes.

        The same as :func:`adagrain.models.mask_network.keep_tables` gives, with their exponents;
        :meth:`~adagrain.host.device.codec_calls.CodecCalls.encode` takes them as ``masks``.

        Parameters
        ----------
        layers : MaskLayers
            The mask generation network.
        seen : ndarray of int8, (regions, 9)
            Features of at least one region.
        exponents : sequence of int
            For each of them the exponent field from which its bins are counted down.

        Raises
        ------
        TypeError, ValueError
            If features or exponents do not fit, or the build has no granularity unit, or none of
            INT8.
        DeviceError
            If the device fails.
        """
        if seen.dtype != np.int8 or seen.ndim != 2 or not len(seen):
            raise ValueError(
                f"seen must be rows of int8, at least one, not {seen.dtype} of shape {seen.shape}"
            )
        if len(exponents) != len(seen):
            raise ValueError(
                f"exponents must be as many as regions, {len(seen)}, not {len(exponents)}"
            )
        chained = [Layer(b, "INT8", own, LAYER_SCALE) for b, own in layers.matrices()]
        a = torch.from_numpy(with_one(seen))
        chosen = self.chain(a, chained, "INT8", FEATURE_SCALE).values > 0
        rows = zip(exponents, chosen.int().tolist(), strict=True)
        return [KeepTable(index(exponent), keep) for exponent, keep in rows]

    def _clock(self) -> dict[str, int]:
        """Counters that tell how long the granularity unit was at work, and on which device."""
        read = self._registers(SYSTEM, GRANULARITY_UNIT)
        return read | dict(self._recovery.counters)
