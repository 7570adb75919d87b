"""Statistics of activations, of those modules whose parameters are masked."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from adagrain.models.interface.formats import FORMATS
from adagrain.models.mask_network import activation_features, sample_of
from adagrain.models.numerics.normalised_variance import exponent_of
from adagrain.models.statistics import statistics_of

__all__ = ["Activations", "owners_of"]

_DTYPES = {fmt.dtype for fmt in FORMATS.values()}


class Activations:
    """Looks at what modules give, in passes in which it is asked to.

    A sample is taken when a module has run with gradients enabled, the last one of a pass counts;
    modules whose output is no floating-point tensor, nor begins with one, have none. Where a
    network does not call a module but uses its parameters (as ``nn.MultiheadAttention`` does with
    its projection), there is none either; nor of what ``torch.compile`` has compiled, whose hooks
    are those of its first pass for ever.

    Parameters
    ----------
    owners : sequence of nn.Module
        By region, the module that has its parameters. It is hooked while samples are wanted.

    Members
    -------
    wanted : bool
        Whether samples are to be taken.
    """

    def __init__(self, owners: Sequence[nn.Module]) -> None:
        numbers = {id(module): number for number, module in enumerate(owners)}
        self._numbers = [numbers[id(module)] for module in owners]
        self._modules = {number: owners[number] for number in sorted({*self._numbers})}
        self._hooks: list[RemovableHandle] = []
        self._samples: dict[int, torch.Tensor] = {}
        self._wanted = False
        self.wanted = True

    @property
    def wanted(self) -> bool:
        return self._wanted

    @wanted.setter
    def wanted(self, value: bool) -> None:
        if value == self._wanted:
            return
        self._wanted = value
        self._unhook()
        modules = self._modules.items() if value else ()
        self._hooks = [own.register_forward_hook(_Hook(self, number)) for number, own in modules]

    def close(self) -> None:
        """Let go of the modules; no more samples are taken."""
        self._unhook()
        self._modules = {}

    def features(self) -> dict[int, tuple[int, int, int, int]]:
        """The features of regions of which there are samples, which are forgotten."""
        samples, self._samples = self._samples, {}
        values = [own.float() for own in samples.values()]
        records = statistics_of(values, [exponent_of(own) for own in values])
        found = dict(zip(samples, map(activation_features, records), strict=True))
        rows = enumerate(self._numbers)
        return {region: found[number] for region, number in rows if number in found}

    def _unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def take(self, number: int, output: Any) -> None:
        """Take a sample of what a module gives."""
        if torch.compiler.is_compiling() or not torch.is_grad_enabled():
            return
        first = output[0] if isinstance(output, tuple | list) and output else output
        if isinstance(first, torch.Tensor) and first.dtype in _DTYPES and first.numel():
            self._samples[number] = sample_of(first.detach().reshape(-1)).clone()


class _Hook:
    """Hands on what a module gives. On a copy of the module it does nothing, for nobody looks."""

    def __init__(self, activations: Activations | None = None, number: int = 0) -> None:
        self._activations = activations
        self._number = number

    def __reduce__(self) -> tuple[type["_Hook"], tuple[()]]:
        return _Hook, ()

    def __call__(self, module: nn.Module, args: Any, output: Any) -> None:
        if self._activations is not None:
            self._activations.take(self._number, output)


def owners_of(model: nn.Module, parameters: Iterable[nn.Parameter]) -> list[nn.Module]:
    """The module that has each parameter; the first one, where several do."""
    owners: dict[int, nn.Module] = {}
    for module in model.modules():
        for own in module.parameters(recurse=False):
            owners.setdefault(id(own), module)
    return [owners[id(own)] for own in parameters]
