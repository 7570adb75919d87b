"""Data sets: the digits, and small files in the formats of MNIST and CIFAR-10."""

import gzip
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from adagrain.host.train.data import load
from adagrain.host.train.networks import build

IMAGES, TESTS = 12, 4


def idx(array: np.ndarray) -> bytes:
    """An idx file of unsigned bytes."""
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.tobytes()


def write_mnist(
    folder: Path, *, zipped: bool = False, separator: str = "-"
) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    arrays = {
        f"train-images{separator}idx3-ubyte": random.integers(0, 256, (IMAGES, 28, 28), np.uint8),
        f"train-labels{separator}idx1-ubyte": np.arange(IMAGES, dtype=np.uint8) % 10,
        f"t10k-images{separator}idx3-ubyte": random.integers(0, 256, (TESTS, 28, 28), np.uint8),
        f"t10k-labels{separator}idx1-ubyte": np.arange(TESTS, dtype=np.uint8) % 10,
    }
    for name, array in arrays.items():
        raw = idx(array)
        path = folder / (f"{name}.gz" if zipped else name)
        path.write_bytes(gzip.compress(raw) if zipped else raw)
    return arrays


def write_cifar(folder: Path) -> np.ndarray:
    random = np.random.default_rng(2)
    rows = random.integers(0, 256, (6, 3, 3072), np.uint8)
    for name, data in zip(
        [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"], rows, strict=True
    ):
        batch = {b"data": data, b"labels": [0, 9, 3], b"batch_label": b"a part"}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    return rows


def test_digits_are_split_alike_every_time() -> None:
    data = load("digits")
    assert data.inputs.shape == (1347, 1, 8, 8)
    assert data.test_inputs.shape == (450, 1, 8, 8)
    assert data.classes == 10
    assert data.inputs.mean().abs() < 1e-5
    assert data.inputs.std() == pytest.approx(1, abs=1e-5)
    counts = torch.bincount(data.test_labels)
    assert counts.min() >= 43 and counts.max() <= 46, "stratified"
    again = load("digits")
    assert torch.equal(again.inputs, data.inputs)
    assert torch.equal(again.test_labels, data.test_labels)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("separator", ["-", "."])
def test_mnist_files(tmp_path: Path, zipped: bool, separator: str) -> None:
    arrays = list(write_mnist(tmp_path, zipped=zipped, separator=separator).values())
    data = load(str(tmp_path))
    assert data.name == "mnist"
    assert data.inputs.shape == (IMAGES, 1, 28, 28)
    assert data.test_inputs.shape == (TESTS, 1, 28, 28)
    pixels = torch.from_numpy(arrays[0]).float()
    torch.testing.assert_close(data.inputs[:, 0], (pixels - pixels.mean()) / pixels.std())
    assert data.labels.tolist() == arrays[1].tolist()
    assert data.test_labels.tolist() == arrays[3].tolist()


@pytest.mark.parametrize("inner", ["", "cifar-10-batches-py"])
def test_cifar_files(tmp_path: Path, inner: str) -> None:
    (tmp_path / inner).mkdir(exist_ok=True)
    rows = write_cifar(tmp_path / inner)
    data = load(str(tmp_path))
    assert data.name == "cifar10"
    assert data.inputs.shape == (15, 3, 32, 32)
    assert data.labels.tolist() == [0, 9, 3] * 5
    pixels = torch.from_numpy(rows.reshape(18, 3, 32, 32)).float()
    scaled = (pixels - pixels[:15].mean()) / pixels[:15].std()
    torch.testing.assert_close(data.test_inputs, scaled[15:])


@pytest.mark.parametrize("write", [write_mnist, write_cifar])
def test_networks_fit_their_data(tmp_path: Path, write: Callable[[Path], object]) -> None:
    write(tmp_path)
    data = load(str(tmp_path))
    for net in ("auto", "mlp", "conv"):
        network = build(data, seed=0, net=net)
        assert network(data.inputs[:5]).shape == (5, 10)


def test_text() -> None:
    data = load("text")
    assert data.inputs.shape == data.labels.shape and data.inputs.shape[1] == 64
    for inputs, labels in ((data.inputs, data.labels), (data.test_inputs, data.test_labels)):
        assert torch.equal(inputs.flatten()[1:], labels.flatten()[:-1]), "one behind the other"
        assert int(inputs.min()) >= 0 and int(inputs.max()) < data.classes
    assert 0.09 < len(data.test_inputs) / (len(data.inputs) + len(data.test_inputs)) < 0.11
    found = build(data, seed=0)(data.inputs[:2])
    assert found.shape == (2, 64, data.classes)
    other = data.inputs[:2].clone()
    other[:, 40:] = 0
    seen = build(data, seed=0)(other)
    assert torch.equal(found[:, :40], seen[:, :40]) and not torch.equal(found, seen), "causal"


@pytest.mark.parametrize(
    ("source", "net", "least"),
    [("digits", "conv", 250_000), ("text", "transformer", 800_000), ("text", "auto", 800_000)],
)
def test_larger_networks(source: str, net: str, least: int) -> None:
    network = build(load(source), seed=0, net=net)
    assert least < sum(p.numel() for p in network.parameters()) < 1.3 * least


@pytest.mark.parametrize(
    ("source", "net", "known"),
    [("digits", "transformer", "mlp or conv"), ("text", "mlp", "transformer")],
)
def test_networks_that_do_not_fit(source: str, net: str, known: str) -> None:
    with pytest.raises(
        ValueError, match=f"net must be {known} for data set '{source}', not '{net}'"
    ):
        build(load(source), seed=0, net=net)


def test_network_of_the_digits_comes_from_its_seed() -> None:
    data = load("digits")
    before = torch.random.get_rng_state()
    network, same, other = build(data, seed=3), build(data, seed=3), build(data, seed=4)
    assert torch.equal(torch.random.get_rng_state(), before)
    shapes = [tuple(p.shape) for p in network.parameters() if p.ndim == 2]
    assert shapes == [(128, 64), (64, 128), (10, 64)]
    weights = [n.state_dict()["hidden1.weight"] for n in (network, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_wrong_paths(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="existing folder, not '/no/such/place'"):
        load("/no/such/place")
    with pytest.raises(FileNotFoundError, match=f"{tmp_path} holds neither MNIST"):
        load(str(tmp_path))
    write_mnist(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError, match="lacks t10k-labels-idx1-ubyte"):
        load(str(tmp_path))


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("train-images-idx3-ubyte", b"", "begins with nothing"),
        ("train-images-idx3-ubyte", b"GIF89a", "00 00 08 03.*begins 47 49 46 38"),
        ("train-images-idx3-ubyte", idx(np.zeros(5, np.uint8)), "3 dimensions"),
        ("train-images-idx3-ubyte", idx(np.zeros((9, 2, 2), np.uint8))[:-1], "52 bytes.*has 51"),
        ("train-labels-idx1-ubyte", idx(np.zeros(11, np.uint8)), "11 for 12"),
        ("train-images-idx3-ubyte", b"\0\0\x08\x03\0\0", "a header of 16 bytes, but has 6"),
        (
            "train-images-idx3-ubyte",
            b"\0\0\x08\x03" + b"\xff" * 12,
            r"79228162458924105385300197391 bytes for shape .*, but has 16",
        ),
        ("train-images-idx3-ubyte", idx(np.zeros((0, 28, 28), np.uint8)), "has 0 of 28 × 28"),
        ("train-images-idx3-ubyte", idx(np.zeros((12, 0, 28), np.uint8)), "has 12 of 0 × 28"),
        ("train-images-idx3-ubyte", idx(np.full((12, 28, 28), 7, np.uint8)), "but all are 7"),
        ("t10k-images-idx3-ubyte", idx(np.zeros((0, 28, 28), np.uint8)), "have test images, but"),
        (
            "t10k-images-idx3-ubyte",
            idx(np.zeros((4, 32, 28), np.uint8)),
            "test images of 28 × 28, as its training images are, not of 32 × 28",
        ),
        ("t10k-labels-idx1-ubyte", idx(np.zeros(5, np.uint8)), "per test image: 5 for 4"),
        ("t10k-labels-idx1-ubyte", idx(np.full(4, 10, np.uint8)), "labels from 0 to 9, not 10"),
    ],
)
def test_wrong_mnist_content(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    write_mnist(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load(str(tmp_path))


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[:50], lambda whole: whole[:50] + bytes(50) + whole[100:]]
)
def test_damaged_gzip(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    write_mnist(tmp_path, zipped=True)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"ubyte\.gz is not a whole gzip file"):
        load(str(tmp_path))


class Malicious:
    """A pickle's deed when nobody stops it."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("false",)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"no pickle", "python batch of CIFAR-10"),
        (pickle.dumps({b"labels": [1]}), "python batch of CIFAR-10"),
        (pickle.dumps({b"data": np.zeros((2, 100), np.uint8), b"labels": [1, 2]}), "python batch"),
        (pickle.dumps({b"data": Malicious(), b"labels": [1]}), "must not name posix.system"),
        (pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1]}), "1 labels for 2"),
        (pickle.dumps({b"data": np.zeros((2, 3072)), b"labels": [1, 2]}), "of bytes, not float64"),
        (pickle.dumps({b"data": [[0] * 3072] * 2, b"labels": ["a", "b"]}), "python batch"),
        (pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [10]}), "to 9, not 10"),
        (pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [-1]}), "to 9, not -1"),
    ],
)
def test_wrong_cifar_content(tmp_path: Path, content: bytes, message: str) -> None:
    write_cifar(tmp_path)
    (tmp_path / "data_batch_3").write_bytes(content)
    with pytest.raises(ValueError, match=f"data_batch_3.*{message}"):
        load(str(tmp_path))


def test_missing_batch(tmp_path: Path) -> None:
    write_cifar(tmp_path)
    (tmp_path / "data_batch_2").unlink()
    with pytest.raises(FileNotFoundError, match="lacks data_batch_2"):
        load(str(tmp_path))
