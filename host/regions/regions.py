"""Regions: named slices of a model's parameters, the unit of every granularity."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import torch
from torch import nn

__all__ = ["ParameterSlice", "Region", "Regions", "apart", "regions", "trainable"]

By = str | Callable[[str, nn.Parameter], str]


@dataclass(frozen=True, eq=False)
class ParameterSlice:
    """A parameter, or a block of its rows.

    Parameters
    ----------
    name : str
        The parameter's name in the model.
    parameter : nn.Parameter
        The parameter.
    rows : tuple of int or None
        First row and the one after the last; ``None`` for all of it.
    """

    name: str
    parameter: nn.Parameter
    rows: tuple[int, int] | None = None

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The slice's part of a tensor of the parameter's shape; a view."""
        return tensor if self.rows is None else tensor[self.rows[0] : self.rows[1]]

    @property
    def numel(self) -> int:
        """Elements."""
        return self.of(self.parameter).numel()


@dataclass(frozen=True, eq=False)
class Region:
    """Parameter slices that share one record of the region table."""

    name: str
    slices: tuple[ParameterSlice, ...]

    @property
    def numel(self) -> int:
        """Elements of all slices."""
        return sum(part.numel for part in self.slices)


class Regions(Sequence[Region]):
    """The regions of a model, in the order of its parameters; immutable.

    Raises
    ------
    ValueError
        If two have the same name, or one has no parameters, or parameters of several types.
    """

    def __init__(self, members: Sequence[Region]) -> None:
        self._members = tuple(members)
        names: set[str] = set()
        for region in self._members:
            if region.name in names:
                raise ValueError(f"regions must differ by name, but two are {region.name!r}")
            names.add(region.name)
            _check_parameters(region)

    @overload
    def __getitem__(self, index: int) -> Region: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Region]: ...
    def __getitem__(self, index: int | slice) -> Region | Sequence[Region]:
        return self._members[index]

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Region]:
        return iter(self._members)

    @property
    def names(self) -> list[str]:
        """Names, in order."""
        return [region.name for region in self]

    def parameters(self) -> Iterator[nn.Parameter]:
        """Every parameter once, in order."""
        yield from {id(part.parameter): part.parameter for r in self for part in r.slices}.values()


def regions(model: nn.Module, by: By = "module") -> Regions:
    """Divide a model's trainable parameters into regions.

    Those of modules with an attribute ``in_regions = False`` stay out: parameters of controllers,
    which are no part of what the network computes.

    Parameters
    ----------
    model : nn.Module
        The model; a wrapper such as ``DistributedDataParallel`` is looked through. Tied
        parameters count once, under their first name; frozen ones, and those without elements, are
        left out.
    by : str or callable
        ``"module"``: the parameters that a module owns itself. ``"tensor"``: each parameter.
        ``"rows:N"``: each parameter of two or more dimensions in N blocks of rows of (nearly)
        equal size, the others whole. A callable gets a parameter's name and the parameter, and
        returns the name of its region.

    Raises
    ------
    TypeError
        If a callable gives no name.
    ValueError
        If ``by`` is none of these, no parameter is trainable, or a region would have parameters
        of several types.
    """
    members: dict[str, list[ParameterSlice]] = {}
    out = apart(model)
    for name, parameter in trainable(model).items():
        if name not in out and parameter.numel():
            for region, part in _divide(name, parameter, by):
                members.setdefault(region, []).append(part)
    if not members:
        raise ValueError("model must have at least one trainable parameter, not none")
    return Regions([Region(name, tuple(parts)) for name, parts in members.items()])


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """A model's trainable parameters, by the names that they have in what it wraps or compiles."""
    while (inner := _wrapped(model)) is not None:
        model = inner
    return {
        name.replace("_orig_mod.", ""): parameter  # as torch.compile names a module inside
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def apart(model: nn.Module) -> dict[str, nn.Parameter]:
    """Those of a model's trainable parameters that stay out of regions, by name."""
    out = {
        id(parameter)
        for module in model.modules()
        if not getattr(module, "in_regions", True)
        for parameter in module.parameters()
    }
    return {name: own for name, own in trainable(model).items() if id(own) in out}


def _check_parameters(region: Region) -> None:
    if not region.slices:
        raise ValueError(f"region {region.name!r} must have at least one parameter, not none")
    kinds = {f"{part.parameter.dtype} on {part.parameter.device}": part for part in region.slices}
    if len(kinds) > 1:
        found = " and ".join(f"{kind} ({part.name!r})" for kind, part in kinds.items())
        raise ValueError(
            f"region {region.name!r} must have parameters of one type and place, not {found}; "
            "divide the model by='tensor'"
        )


def _wrapped(model: nn.Module) -> nn.Module | None:
    """Model that another one wraps, or was compiled from; None for neither."""
    if isinstance(model, nn.parallel.DistributedDataParallel):
        return model.module
    return getattr(model, "_orig_mod", None)


def _divide(name: str, parameter: nn.Parameter, by: By) -> Iterator[tuple[str, ParameterSlice]]:
    whole = ParameterSlice(name, parameter)
    if callable(by):
        region = by(name, parameter)
        if not isinstance(region, str):
            raise TypeError(f"by must give the name of a region for {name!r}, not {region!r}")
        yield region, whole
    elif by == "module":
        yield name.rpartition(".")[0] or "(root)", whole
    elif by == "tensor":
        yield name, whole
    else:
        blocks = _blocks(by)
        if parameter.dim() < 2 or parameter.shape[0] < blocks:
            yield name, whole
            return
        edges = [parameter.shape[0] * block // blocks for block in range(blocks + 1)]
        for first, last in pairwise(edges):
            part = f"{name}[{first}:{last}]"
            yield part, ParameterSlice(part, parameter, (first, last))


def _blocks(by: str) -> int:
    kind, _, count = str(by).partition(":")
    if kind != "rows" or not count.isdecimal() or int(count) < 1:
        raise ValueError(
            f"by must be 'module', 'tensor', 'rows:N' with a positive N, or a callable, not {by!r}"
        )
    return int(count)
