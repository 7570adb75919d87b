"""The networks that the data sets are trained with."""

from collections import OrderedDict

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
    layers: dict[str, nn.Module] = {"flatten": nn.Flatten()}
    for number, width in enumerate(hidden, 1):
        layers[f"hidden{number}"] = nn.Linear(inputs, width)
        layers[f"relu{number}"] = nn.ReLU()
        inputs = width
    layers["output"] = nn.Linear(inputs, classes)
    return nn.Sequential(OrderedDict(layers))


def _convolutional(channels: int, height: int, width: int, classes: int) -> nn.Sequential:
    stages: dict[str, nn.Module] = {}
    for number, filters in enumerate(_CHANNELS, 1):
        stages[f"convolution{number}"] = nn.Conv2d(channels, filters, 3, padding=1)
        # Unlike batch normalisation, no running averages that workers would have to agree on.
        stages[f"norm{number}"] = nn.GroupNorm(8, filters)
        stages[f"relu{number}"] = nn.ReLU()
        stages[f"pool{number}"] = nn.MaxPool2d(2)
        channels, height, width = filters, height // 2, width // 2
    stages["flatten"] = nn.Flatten()
    stages["output"] = nn.Linear(channels * height * width, classes)
    return nn.Sequential(OrderedDict(stages))
