"""The networks that the data sets are trained with."""

import torch
from torch import nn

from .data import Dataset

__all__ = ["build"]

#: Widths of the hidden layers of the perceptron, by data set.
_HIDDEN = {"digits": (128, 64), "mnist": (256, 128)}

#: Channels of the convolutional network, one stage each.
_CHANNELS = (32, 64, 128)


def build(data: Dataset, seed: int) -> nn.Module:
    """A fresh network for a data set, with initial values drawn from a seed.

    Digits and MNIST get a perceptron (64-128-64-10 for digits), CIFAR-10 a convolutional network
    of three stages. The global random state is left as it was.
    """
    _, channels, height, width = data.inputs.shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if data.name in _HIDDEN:
            return _perceptron(channels * height * width, _HIDDEN[data.name], data.classes)
        return _convolutional(channels, height, width, data.classes)


def _perceptron(inputs: int, hidden: tuple[int, ...], classes: int) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Flatten()]
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, classes))


def _convolutional(channels: int, height: int, width: int, classes: int) -> nn.Sequential:
    stages: list[nn.Module] = []
    for filters in _CHANNELS:
        stages += [
            nn.Conv2d(channels, filters, 3, padding=1),
            nn.GroupNorm(8, filters),  # no running averages, which workers would have to agree on
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        channels, height, width = filters, height // 2, width // 2
    return nn.Sequential(*stages, nn.Flatten(), nn.Linear(channels * height * width, classes))
