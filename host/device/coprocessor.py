"""The driver: one :class:`Coprocessor`, whatever is behind its url."""

from collections.abc import Sequence
from functools import cached_property

import torch

from adagrain.models.difference import Difference
from adagrain.models.statistics import Energy, Statistics

from .codec_calls import CodecCalls
from .identity import Info
from .passes import Passes
from .region_calls import RegionCalls
from .selftest import Report, selftest
from .tile_calls import TileCalls

__all__ = ["Coprocessor", "Info"]


class Coprocessor(CodecCalls, RegionCalls, TileCalls):
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

    def batch(self, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Tensors that are looked at again and again: checked, and found in memory, once.

        Parameters
        ----------
        tensors : sequence of Tensor
            As in :meth:`statistics_of`; their memory stays theirs. Whoever gives one of them other
            memory, as ``x.data = y`` does, makes another batch.

        Returns
        -------
        sequence of Tensor
            For :meth:`energies_of`, of this device or another. They are the same where one cannot
            be looked at where it lies.

        Raises
        ------
        TypeError, ValueError
            As :meth:`statistics_of`.
        """
        return self._passes.batch(tensors)

    def energies_of(
        self, tensors: Sequence[torch.Tensor], exponents: Sequence[int]
    ) -> list[Energy]:
        """Energies of several tensors: the part of their statistics that decisions take.

        The same as those of :meth:`statistics_of`; golden models in this process take half as long.

        Parameters
        ----------
        tensors : sequence of Tensor
            As in :meth:`statistics_of`, or of :meth:`batch`.
        exponents : sequence of int
            The shared exponent of each.

        Raises
        ------
        TypeError, ValueError
            As :meth:`statistics_of`; or if the memory of a tensor of a batch is other memory now.
        DeviceError
            If the device fails.
        """
        return self._passes.energies(tensors, exponents)

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

    def differences_of(
        self, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]], exponents: Sequence[int]
    ) -> list[Difference]:
        """Differences of several guesses from their truths, in one call.

        The same as one call of :meth:`difference` for each; asked as :meth:`statistics_of` asks.

        Parameters
        ----------
        pairs : sequence of pairs of Tensor
            Guess and truth, each pair as in :meth:`difference`.
        exponents : sequence of int
            The shared exponent of each pair.

        Raises
        ------
        TypeError, ValueError
            As :meth:`difference`; or if there are not as many exponents as pairs.
        DeviceError
            If the device fails.
        """
        return self._passes.differences(pairs, exponents)

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

    def selftest(self, seed: int = 0) -> Report:
        """Compare the device with the golden models; see :mod:`adagrain.host.device.selftest`.

        A device that fails is not replaced meanwhile.
        """
        with self._recovery.as_it_is():
            return selftest(self, seed=seed)

    @cached_property
    def _passes(self) -> Passes:
        return Passes(self.configuration, self._session, self._recovery)
