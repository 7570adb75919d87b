"""Linear and convolutional layers that compute in the precisions of their channel groups."""

import torch
from torch import nn

from .geometry import Dense, Patches
from .layer import GranularLayer
from .policy import Policy

__all__ = ["GranularConv2d", "GranularLayer", "GranularLinear"]


class GranularLinear(GranularLayer):
    """``nn.Linear`` in the precisions of its channel groups.

    Parameters
    ----------
    layer, policy, name
        As for :class:`GranularLayer`.
    """

    def __init__(self, layer: nn.Linear, policy: Policy, name: str) -> None:
        super().__init__(layer, policy, name, Dense())
        self.in_features, self.out_features = layer.in_features, layer.out_features

    def _outputs(self, x: torch.Tensor) -> torch.Tensor:
        """Any leading dimensions, the last one of ``in_features``."""
        self._check_features(x.shape[-1], self.in_features)
        rows = x.reshape(-1, self.in_features)
        y = self._product(rows, len(rows))
        return y.view(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """Shape and channel groups, for ``print``."""
        groups = f"channel_groups={self.policy.channel_groups}"
        return f"{self.in_features}, {self.out_features}, {groups}"


class GranularConv2d(GranularLayer):
    """``nn.Conv2d`` in the precisions of its channel groups: a product of the image's patches.

    Parameters
    ----------
    layer, policy, name
        As for :class:`GranularLayer`. Groups and padding other than with zeros are refused.
    """

    def __init__(self, layer: nn.Conv2d, policy: Policy, name: str) -> None:
        if layer.groups != 1:
            raise ValueError(f"{name} must have 1 group, not {layer.groups}; skip it")
        if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
            kind = layer.padding if isinstance(layer.padding, str) else layer.padding_mode
            raise ValueError(f"{name} must be padded with a number of zeros, not {kind!r}; skip it")
        padding = tuple(int(length) for length in layer.padding)
        patches = Patches(layer.kernel_size, layer.stride, padding, layer.dilation)
        super().__init__(layer, policy, name, patches)
        self.in_channels, self.out_channels = layer.in_channels, layer.out_channels
        self.kernel_size, self.groups = layer.kernel_size, layer.groups
        self.dilation, self.stride, self.padding = layer.dilation, layer.stride, padding

    def _outputs(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (samples, channels, height, width)."""
        if x.dim() != 4:
            raise ValueError(f"input of layer {self.name} must have 4 dimensions, not {x.dim()}")
        self._check_features(x.shape[1], self.in_channels)
        return self._product(x, len(x))

    def extra_repr(self) -> str:
        """Shape and channel groups, for ``print``."""
        groups = f"channel_groups={self.policy.channel_groups}"
        return f"{self.terms} products, {self.out_channels}, {groups}"
