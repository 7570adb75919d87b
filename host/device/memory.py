"""Tensors as the words that a device reads."""

import numpy as np
import torch

from adagrain.models.interface.units.tensor_input import BEAT

__all__ = ["check_readable", "elements_of", "words_of"]


def check_readable(x: torch.Tensor, name: str = "x") -> None:
    """Make sure that a tensor has elements in memory, one after the other or strided.

    Parameters
    ----------
    x : Tensor
        The tensor.
    name : str
        What it is called, in messages.

    Raises
    ------
    TypeError
        If it is none, or sparse, nested, quantized or without data.
    """
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(x).__name__}")
    if x.layout != torch.strided or x.is_nested or x.is_quantized or x.is_meta:
        kinds = {"nested": x.is_nested, "quantized": x.is_quantized, "meta": x.is_meta}
        kind = next((kind for kind, is_so in kinds.items() if is_so), str(x.layout))
        raise TypeError(f"tensor must be dense and hold data, but it is {kind}")


def elements_of(x: torch.Tensor) -> torch.Tensor:
    """A tensor's elements in the order of its indices, one after the other in the host's memory."""
    if x.is_cpu and x.stride() == (1,) and not x.is_neg() and not x.is_conj():
        return x.detach() if x.requires_grad else x
    plain = x.detach().to("cpu").resolve_conj().resolve_neg().reshape(-1)
    if plain.stride(0) != 1:  # of an only element, it may be any
        plain = plain.clone(memory_format=torch.contiguous_format)
    return plain


def words_of(x: torch.Tensor) -> np.ndarray:
    """A tensor's elements as 32-bit words, in the order of its indices, zero-padded to groups."""
    raw = elements_of(x).view(torch.uint8)
    missing = -len(raw) % BEAT
    if missing:
        raw = torch.cat([raw, raw.new_zeros(missing)])
    return raw.numpy().view(np.uint32)
