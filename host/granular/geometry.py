"""Layout of a layer's input, weights and outputs as matrices, and of their gradients."""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch.nn import functional, grad

__all__ = ["Dense", "Geometry", "Patches"]


class Geometry(Protocol):
    """Geometry of all layers of a kind; outputs are dimension 1 of what comes out."""

    def plain(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Output of PyTorch's own layer, without bias."""

    def places(self, x: torch.Tensor) -> int:
        """Number of rows that are multiplied with the weights."""

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        """The matrices that are multiplied with the weights, shape (..., m, k)."""

    def outputs(self, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The products, shape (..., m, n), as what comes out for an input."""

    def to_input(
        self, gradient: torch.Tensor, weight: torch.Tensor, x: torch.Tensor
    ) -> torch.Tensor:
        """Gradient of an input, from that of the outputs."""

    def to_weight(
        self, gradient: torch.Tensor, weight: torch.Tensor, x: torch.Tensor
    ) -> torch.Tensor:
        """Gradient of the weights, from that of the outputs."""


class Dense:
    """Input of shape (m, k), weights of (n, k), outputs of (m, n)."""

    def plain(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, weight)

    def places(self, x: torch.Tensor) -> int:
        return len(x)

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def outputs(self, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return y

    def to_input(
        self, gradient: torch.Tensor, weight: torch.Tensor, x: torch.Tensor
    ) -> torch.Tensor:
        return gradient @ weight

    def to_weight(
        self, gradient: torch.Tensor, weight: torch.Tensor, x: torch.Tensor
    ) -> torch.Tensor:
        return gradient.t() @ x


@dataclass(frozen=True)
class Patches:
    """Images of shape (samples, channels, height, width), and weights as ``nn.Conv2d`` has them.

    Patches are not copied into rows, but lie as ``unfold`` leaves them: a place's numbers apart.

    Parameters
    ----------
    kernel_size, stride, padding, dilation : tuple of two int
        As of ``nn.Conv2d``.
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    def plain(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.conv2d(x, weight, None, self.stride, self.padding, self.dilation)

    def places(self, x: torch.Tensor) -> int:
        return len(x) * math.prod(self._image(x))

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        return functional.unfold(
            x, self.kernel_size, self.dilation, self.padding, self.stride
        ).transpose(1, 2)

    def outputs(self, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        images = y.new_empty(len(x), y.shape[2], *self._image(x))
        images.flatten(2).copy_(y.transpose(1, 2))
        return images  # no view: what follows may change it in place

    def to_input(
        self, gradient: torch.Tensor, weight: torch.Tensor, x: torch.Tensor
    ) -> torch.Tensor:
        return grad.conv2d_input(
            x.shape, weight, gradient, self.stride, self.padding, self.dilation
        )

    def to_weight(
        self, gradient: torch.Tensor, weight: torch.Tensor, x: torch.Tensor
    ) -> torch.Tensor:
        return grad.conv2d_weight(
            x, weight.shape, gradient, self.stride, self.padding, self.dilation
        )

    def _image(self, x: torch.Tensor) -> list[int]:
        """Height and width of what comes out."""
        lengths = [
            (length + 2 * padding - dilation * (size - 1) - 1) // stride + 1
            for length, size, padding, dilation, stride in zip(
                x.shape[2:],
                self.kernel_size,
                self.padding,
                self.dilation,
                self.stride,
                strict=True,
            )
        ]
        if min(lengths) < 1:
            raise ValueError(
                f"images must be large enough for the kernel {self.kernel_size}, not of "
                f"{tuple(x.shape[2:])}"
            )
        return lengths
