"""The networks that the data sets are trained with."""

from collections import OrderedDict

import torch
from torch import nn

from .data import Dataset
from .transformer import CharTransformer

__all__ = ["build"]

#: Networks that a data set can be trained with, the usual one first.
_NETS = {
    "digits": ("mlp", "conv"),
    "mnist": ("mlp", "conv"),
    "cifar10": ("small conv", "conv", "mlp"),
    "text": ("transformer",),
}

#: Widths of the hidden layers of the perceptron, by data set.
_HIDDEN = {"digits": (128, 64), "mnist": (256, 128), "cifar10": (256, 128)}

#: Channels of the convolutional networks, one stage each.
_CHANNELS = {"small conv": (32, 64, 128), "conv": (64, 128, 192)}

#: Width of the transformer, and its blocks.
_TRANSFORMER = (128, 4)


def build(data: Dataset, seed: int, net: str = "auto") -> nn.Module:
    """A fresh network for a data set, with initial values drawn from a seed.

    ``mlp`` is a perceptron (64-128-64-10 for digits), ``conv`` a convolutional network of three
    stages (0.3M parameters), ``transformer`` one that predicts characters (0.8M). ``auto`` is the
    perceptron for digits and MNIST, a smaller convolutional network for CIFAR-10 (0.1M), and the
    transformer for text. The global random state is left as it was.

    Parameters
    ----------
    data : Dataset
        What it is for.
    seed : int
        Of its weights.
    net : str
        Which network.

    Raises
    ------
    ValueError
        If the data set cannot be trained with it.
    """
    known = _NETS[data.name]
    if net != "auto" and net not in known:
        told = " or ".join(name for name in known if " " not in name)
        raise ValueError(f"net must be {told} for data set {data.name!r}, not {net!r}")
    kind = known[0] if net == "auto" else net
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "transformer":
            return CharTransformer(data.classes, *_TRANSFORMER)
        _, channels, height, width = data.inputs.shape
        if kind == "mlp":
            return _perceptron(channels * height * width, _HIDDEN[data.name], data.classes)
        return _convolutional(_CHANNELS[kind], channels, height, width, data.classes)


def _perceptron(inputs: int, hidden: tuple[int, ...], classes: int) -> nn.Sequential:
    layers: dict[str, nn.Module] = {"flatten": nn.Flatten()}
    for number, width in enumerate(hidden, 1):
        layers[f"hidden{number}"] = nn.Linear(inputs, width)
        layers[f"relu{number}"] = nn.ReLU()
        inputs = width
    layers["output"] = nn.Linear(inputs, classes)
    return nn.Sequential(OrderedDict(layers))


def _convolutional(
    stages_of: tuple[int, ...], channels: int, height: int, width: int, classes: int
) -> nn.Sequential:
    stages: dict[str, nn.Module] = {}
    for number, filters in enumerate(stages_of, 1):
        stages[f"convolution{number}"] = nn.Conv2d(channels, filters, 3, padding=1)
        # Unlike batch normalisation, no running averages that workers would have to agree on.
        stages[f"norm{number}"] = nn.GroupNorm(8, filters)
        stages[f"relu{number}"] = nn.ReLU()
        stages[f"pool{number}"] = nn.MaxPool2d(2)
        channels, height, width = filters, height // 2, width // 2
    stages["flatten"] = nn.Flatten()
    stages["output"] = nn.Linear(channels * height * width, classes)
    return nn.Sequential(OrderedDict(stages))
