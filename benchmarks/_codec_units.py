"""What is measured alike of the encoder's and the decoder's gateware."""

from collections.abc import Mapping
from statistics import median
from typing import Any

import torch
from rich.console import Console

from adagrain.hdl.flow import place_alone
from adagrain.models.interface.codec import BLOCK

__all__ = ["ELEMENTS", "alone", "fallen_short", "sparse"]

#: Blocks of a tensor, and their elements.
BLOCKS = 32
ELEMENTS = BLOCKS * BLOCK


def sparse(density: float) -> torch.Tensor:
    """BF16 elements of which about this part is not +0, the same in each call."""
    draw = torch.Generator().manual_seed(0)
    kept = torch.rand(ELEMENTS, generator=draw) < density
    return torch.where(kept, torch.randn(ELEMENTS, generator=draw), 0.0).bfloat16()


def alone(unit: str) -> dict[str, Any]:
    """Size and clock rates of a unit placed alone on the ECP5-85F, with three seeds."""
    with Console().status("") as status:
        found = place_alone(unit, "ulx3s", 100, progress=status.update)
    return {
        "LUT": found[0].usage["LUT"],
        "block RAM": found[0].usage["block RAM"],
        "MHz": [round(one.megahertz, 1) for one in found],
        "median MHz": median(one.megahertz for one in found),
    }


def fallen_short(figures: Mapping[str, float], aims: Mapping[str, float]) -> str | None:
    """What is less than it must be; ``None`` if all is well."""
    slow = [
        f"{name} must be at least {least:g}, not {figures[name]:.4g}"
        for name, least in aims.items()
        if figures[name] < least
    ]
    return "; ".join(slow) or None
