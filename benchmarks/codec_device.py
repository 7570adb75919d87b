"""Clock cycles that a device takes to code and to decode an element, requests included.

On `sim:`, the device preset `full` with its data port, random BF16 elements of which a part is not
+0, a second time: the device has the tables from the first. The same in each run.
"""

from typing import Any

import torch
from _codec_units import ELEMENTS, sparse
from _report import report
from rich.console import Console

import adagrain
from adagrain.host.device.coprocessor import Coprocessor

#: Parts of elements that are not +0.
DENSITIES = 0.01, 0.1, 0.3


def main() -> None:
    """Measure both ways at all densities."""
    figures: dict[str, Any] = {}
    with Console().status("opening the device"), adagrain.open_device("sim:", "full") as device:
        for density in DENSITIES:
            tensor = sparse(density)
            _, cycles = (_cycles(device, tensor) for _ in range(2))
            for what, taken in zip(("encode", "decode"), cycles, strict=True):
                figures[f"{what}_cycles_per_element_at_{density}"] = taken / ELEMENTS
    report("codec_device", figures)


def _cycles(device: Coprocessor, tensor: torch.Tensor) -> tuple[int, int]:
    """Of a tensor to a frame, and of the frame back to the tensor."""
    began = device.counters()["cycles"]
    frame = device.encode([tensor])
    coded = device.counters()["cycles"]
    (found,) = device.decode(frame)
    ended = device.counters()["cycles"]
    if not torch.equal(found.view(torch.int16), tensor.view(torch.int16)):
        raise ValueError("the device must give back what it was given")
    return coded - began, ended - coded


if __name__ == "__main__":
    main()
