"""Clock cycles of products and chains of products on `sim:`, by data port and by link.

A product of 32 × 64 by 64 × 128 in INT8, and a chain that goes on by 128 × 64, its numbers in
between in INT8; beside it, the same two products one after the other. The same in each run.

The chain's aim compares what a device does at its best with what it did before there were chains
and a data port: the chain by the port with its two products apart over the link. What the chain
alone gains, is told way by way.
"""

import sys
from typing import Any

import torch
from _report import report

import adagrain
from adagrain.host.device.chain import Layer
from adagrain.host.device.coprocessor import Coprocessor

#: The most cycles of the product, on the widest device preset: a quarter of what it took when each
#: operand and result crossed the link.
MOST = 14_000

#: Cycles of the chain by the data port to those of its products one after the other over the link.
SHARE = 1 / 3


def main() -> None:
    """Measure both device presets, both ways."""
    figures: dict[str, Any] = {}
    for preset in ("granular", "wide"):
        for way, data_port in (("port", True), ("link", False)):
            with adagrain.open_device("sim:", preset, data_port=data_port) as device:
                for name, cycles in measured(device).items():
                    figures[f"{preset}_{way}_{name}"] = cycles
        for chain, apart in (("port", "port"), ("link", "link"), ("port", "link")):
            cycles = figures[f"{preset}_{chain}_chain_cycles"]
            share = cycles / figures[f"{preset}_{apart}_apart_cycles"]
            figures[f"{preset}_{chain}_chain_to_{apart}_apart"] = share
    report("tiles", figures)
    product, share = figures["wide_port_product_cycles"], figures["wide_port_chain_to_link_apart"]
    slow = []
    if product > MOST:
        slow.append(f"the product on wide must take at most {MOST} cycles, not {product}")
    if share > SHARE:
        slow.append(
            f"the chain on wide, by the port, must take at most {SHARE:.2f} of its two products "
            f"apart over the link, not {share:.3f}"
        )
    sys.exit("; ".join(slow) or None)


def measured(device: Coprocessor) -> dict[str, int]:
    """Cycles of the product, raw and packed, of the chain, and of its products apart."""
    draw = torch.Generator().manual_seed(0)
    x, first, second = (
        torch.randint(-127, 128, shape, generator=draw).to(torch.int8)
        for shape in ((32, 64), (64, 128), (128, 64))
    )
    options: dict[str, Any] = {"to": "INT8", "to_scale": 2.0**10}
    raw = device.matmul(x, first, "INT8")
    packed = device.matmul(x, first, "INT8", (1.0, 1.0), **options)
    then = device.matmul(packed.values, second, "INT8", (2.0**10, 1.0), **options)
    layers = [Layer(first, **options), Layer(second, **options)]
    chain = device.chain(x, layers, "INT8")
    if not torch.equal(chain.values, then.values):
        raise ValueError("the chain must give what its products give one after the other")
    return {
        "product_cycles": raw.cycles,
        "product_busy_cycles": raw.busy,
        "packed_cycles": packed.cycles,
        "apart_cycles": packed.cycles + then.cycles,
        "chain_cycles": chain.cycles,
        "chain_busy_cycles": chain.busy,
    }


if __name__ == "__main__":
    main()
