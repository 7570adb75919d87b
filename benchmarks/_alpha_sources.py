"""Sources of the recordings on whose energies the Region Manager's averages are evaluated."""

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from _recordings import Recording
from _text import BATCH, batch_of
from torch import nn
from torch.nn import functional

from adagrain import open_device, regions
from adagrain.host.distributed.energies import Energies
from adagrain.host.train.data import load
from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.run import start
from adagrain.host.train.schedule import schedule
from adagrain.host.train.text import text
from adagrain.host.train.transformer import CharTransformer

__all__ = ["NOISE_SIZES", "SOURCES", "signal_share"]

#: Elements of the regions of noise: of so few that they agree by chance, up to a layer's.
NOISE_SIZES = (4, 32, 256, 4096)

#: Updates of the synthetic recordings, and how far their energies fall.
_UPDATES, _FALL = 2000, 1000.0

Loss = Callable[[int], torch.Tensor]


def digits(name: str, workers: int) -> Recording:
    """The run of ``make train``, with golden devices."""
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingOptions(
            name=name, runs=Path(folder), workers=workers, device="golden:", timing="fixed"
        )
        with contextlib.redirect_stdout(io.StringIO()):
            start(options)
        return Recording.of_metrics(name, workers, options.folder / "metrics.jsonl")


def convolutions(name: str, workers: int) -> Recording:
    """A convolutional network on the digits."""
    torch.manual_seed(0)
    data = load("digits")
    network = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, data.classes),
    )  # fmt: skip
    samples = torch.Generator().manual_seed(0)

    def loss(_: int) -> torch.Tensor:
        batch = torch.randint(len(data.inputs), (32,), generator=samples)
        return functional.cross_entropy(network(data.inputs[batch]), data.labels[batch])

    return _trained(name, workers, network, loss, steps=600, rate=0.1)


def transformer(name: str, workers: int) -> Recording:
    """A small transformer that predicts characters."""
    torch.manual_seed(0)
    training, _, alphabet = text()
    network = CharTransformer(alphabet)
    samples = torch.Generator().manual_seed(0)

    def loss(_: int) -> torch.Tensor:
        inputs, wanted = batch_of(training, BATCH, samples)
        return functional.cross_entropy(network(inputs).flatten(0, 1), wanted.flatten())

    return _trained(name, workers, network, loss, steps=500, rate=0.2)


def noise(name: str, workers: int) -> Recording:
    """Gradients without any signal, whose energies fall a thousandfold."""
    return _drawn(name, workers, NOISE_SIZES, lambda update: 0.0)


def signal(name: str, workers: int) -> Recording:
    """Gradients whose share of signal is known, and strong at times; energies fall likewise."""
    return _drawn(name, workers, NOISE_SIZES[2:], signal_share)


def signal_share(update: int) -> float:
    """Part of the energy that is signal: two leaps, a slope, and leaps back."""
    if update < 400:
        return 0.0
    if update < 800:
        return 0.8
    if update < 1200:
        return 0.8 * (1200 - update) / 400
    return 0.9 if update < 1600 else 0.0


def _trained(
    name: str, workers: int, network: nn.Module, loss: Loss, *, steps: int, rate: float
) -> Recording:
    """Train as that many workers would at cadence 1, one after the other."""
    sgd = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9)
    scheduler = schedule(sgd, steps=steps, warmup=32)
    divided = regions(network)
    parameters = [[part.parameter for part in region.slices] for region in divided]
    losses = []

    def gradients() -> Iterator[list[torch.Tensor]]:
        for step in range(steps):
            workers_losses, found = [], []
            for _ in range(workers):
                network.zero_grad()
                own = loss(step)
                own.backward()
                workers_losses.append(own.item())
                found.append([_flat([p.grad for p in region]) for region in parameters])
            losses.append(round(65536 * sum(workers_losses) / workers))
            yield from (list(of_region) for of_region in zip(*found, strict=True))
            for region, of_region in zip(parameters, zip(*found, strict=True), strict=True):
                _give(region, sum(of_region) / workers)
            sgd.step()
            scheduler.step()

    sizes = [region.numel for region in divided]
    return _recorded(name, workers, divided.names, sizes, gradients(), losses)


def _drawn(
    name: str, workers: int, sizes: Sequence[int], share: Callable[[int], float]
) -> Recording:
    """Draw signal and noise from a seed."""
    generator = torch.Generator().manual_seed(workers)

    def draw(size: int) -> torch.Tensor:
        return torch.randn(size, generator=generator)

    directions = [functional.normalize(draw(size), dim=0) * size**0.5 for size in sizes]

    def gradients() -> Iterator[list[torch.Tensor]]:
        for update in range(_UPDATES):
            scale = _FALL ** (-update / _UPDATES / 2)
            part = share(update)
            for size, direction in zip(sizes, directions, strict=True):
                common = part**0.5 * direction
                yield [scale * (common + (1 - part) ** 0.5 * draw(size)) for _ in range(workers)]

    names = [str(size) for size in sizes]
    return _recorded(name, workers, names, sizes, gradients(), [])


def _recorded(
    name: str,
    workers: int,
    names: Sequence[str],
    sizes: Sequence[int],
    gradients: Iterator[list[torch.Tensor]],
    losses: list[int],
) -> Recording:
    """The energies of gradients that come for each region in turn, step by step."""
    with open_device("golden:") as device:
        energies = Energies(sizes, workers)
        columns: dict[str, list[int]] = {
            key: [] for key in ("step", "region", "exponent", "a", "n")
        }
        for number, of_workers in enumerate(gradients):
            step, region = divmod(number, len(sizes))
            tensors = [*of_workers, sum(of_workers) / workers]
            exponent = energies.exponents[region]
            *records, average = device.statistics_of(tensors, [exponent or 0] * len(tensors))
            found = [energies.local(region, record) for record in records]
            update = energies.update(
                region,
                sum(own.energy for own in found),
                average,
                exponent=exponent,
                clean=not any(own.saturated for own in found),
            )
            if update["usable"]:
                entry = {"step": step, "region": region} | update
                for key, column in columns.items():
                    column.append(int(entry[key]))
    return Recording(name, workers, list(names), losses, **columns)


def _flat(gradients: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.cat([gradient.flatten() for gradient in gradients])


def _give(parameters: Sequence[nn.Parameter], flat: torch.Tensor) -> None:
    """Make a region's gradients those of a flat tensor."""
    parts = flat.split([p.numel() for p in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part.view_as(parameter).clone()


#: What is recorded: name, how, and the number of workers.
SOURCES = {
    "digits": (digits, 2),
    "digits_4": (digits, 4),
    "convolutions": (convolutions, 2),
    "transformer": (transformer, 2),
    "noise": (noise, 2),
    "noise_4": (noise, 4),
    "signal": (signal, 2),
    "signal_4": (signal, 4),
}
