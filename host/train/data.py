"""Data sets: scikit-learn's digits, a text, and local MNIST or CIFAR-10 files given by their path.

Nothing is ever downloaded. Images come out as float32 ``(samples, channels, height, width)`` with
zero mean and unit variance over the training part, labels as int64.
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from .cifar import find_cifar, read_cifar
from .idx import find_mnist, read_mnist
from .text import text, windows

__all__ = ["NAMED", "Dataset", "load"]

#: Data sets that have a name; all others have a path.
NAMED = ("digits", "text")

#: Part of the digits that is held out, and the seed of that split.
_TEST_PART, _SPLIT_SEED = 0.25, 0

#: A label is a byte in the files.
_MOST_CLASSES = 256


@dataclass(frozen=True)
class Dataset:
    """Training and test part of a data set.

    Parameters
    ----------
    name : str
        ``digits``, ``mnist``, ``cifar10`` or ``text``.
    inputs, test_inputs : Tensor
        Images, float32, ``(samples, channels, height, width)``; of a text, numbers of characters,
        int64, ``(samples, places)``.
    labels, test_labels : Tensor
        int64, ``(samples,)``; of a text, the next character at each place, ``(samples, places)``.
    classes : int
        Number of classes: the highest label and one; of a text, its alphabet.
    """

    name: str
    inputs: torch.Tensor
    labels: torch.Tensor
    test_inputs: torch.Tensor
    test_labels: torch.Tensor
    classes: int


def load(source: str) -> Dataset:
    """The data set called ``digits`` or ``text``, or the one whose files lie at a path.

    Parameters
    ----------
    source : str
        ``digits``, ``text``, or a folder with MNIST's four idx files (plain or ``.gz``) or
        CIFAR-10's python batches (also inside ``cifar-10-batches-py``).

    Raises
    ------
    FileNotFoundError
        If the path does not exist, or holds neither of the two.
    ValueError
        If a file's content is not of its format; the message names the file.
    """
    if source == "digits":
        return _digits()
    if source == "text":
        return _text()
    folder = Path(source)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"data must be 'digits', 'text' or an existing folder, not {source!r}"
        )
    mnist = find_mnist(folder)
    if mnist:
        return _scaled("mnist", *read_mnist(mnist))
    batches = find_cifar(folder)
    if batches:
        return _scaled("cifar10", *read_cifar(batches))
    raise FileNotFoundError(
        f"{folder} holds neither MNIST (train-images-idx3-ubyte and three more, plain or .gz) "
        f"nor CIFAR-10 (data_batch_1 … data_batch_5 and test_batch)"
    )


def _digits() -> Dataset:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        images, labels, test_size=_TEST_PART, random_state=_SPLIT_SEED, stratify=labels
    )
    parts = (train.reshape(-1, 8, 8), train_labels, test.reshape(-1, 8, 8), test_labels)
    return _scaled("digits", *(torch.as_tensor(part) for part in parts))


def _text() -> Dataset:
    training, test, alphabet = text()
    return Dataset("text", *windows(training), *windows(test), alphabet)


def _scaled(
    name: str,
    images: torch.Tensor,
    labels: torch.Tensor,
    test_images: torch.Tensor,
    test_labels: torch.Tensor,
) -> Dataset:
    """Both parts, scaled by the mean and deviation of the training part."""
    labels, test_labels = labels.long(), test_labels.long()
    _check_part(name, "training", images, labels, _MOST_CLASSES)
    _check_part(name, "test", test_images, test_labels, int(labels.max()) + 1)
    if test_images.shape[1:] != images.shape[1:]:
        raise ValueError(
            f"{name} must have test images of {_size(images)}, as its training images are, "
            f"not of {_size(test_images)}"
        )
    inputs = _channels_first(images)
    mean, deviation = inputs.mean(), inputs.std()
    if not deviation > 0:
        raise ValueError(
            f"{name} must have training images that differ, but all are {float(mean):g}"
        )
    return Dataset(
        name,
        (inputs - mean) / deviation,
        labels,
        (_channels_first(test_images) - mean) / deviation,
        test_labels,
        int(labels.max()) + 1,
    )


def _check_part(
    name: str, part: str, images: torch.Tensor, labels: torch.Tensor, classes: int
) -> None:
    if not images.numel():
        raise ValueError(
            f"{name} must have {part} images, but has {len(images)} of {_size(images)}"
        )
    if len(images) != len(labels):
        raise ValueError(
            f"{name} must have one label per {part} image: {len(labels)} for {len(images)}"
        )
    wrong = labels[(labels < 0) | (labels >= classes)]
    if len(wrong):
        raise ValueError(
            f"{name} must have {part} labels from 0 to {classes - 1}, not {int(wrong[0])}"
        )


def _size(images: torch.Tensor) -> str:
    return " × ".join(map(str, images.shape[1:]))


def _channels_first(images: torch.Tensor) -> torch.Tensor:
    """float32 ``(samples, channels, height, width)``; grey images get their one channel."""
    images = images.float()
    return images[:, None] if images.ndim == 3 else images
