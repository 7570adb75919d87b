"""Precisions in the summary of a granular run."""

from collections.abc import Sequence
from typing import Any

from adagrain.host.granular import Granularity
from adagrain.models.arithmetic.float import Flag
from adagrain.models.interface.precision import Precision

__all__ = ["combined", "precision_counts", "precision_rows"]

_COUNTS = ("switches", "overrides", "products", "cycles", "bytes_moved")


def precision_counts(granularity: Granularity) -> dict[str, Any]:
    """Products and decisions of one worker, at its end."""
    offloaded = granularity.offloaded
    return {
        "work": {precision.name: count for precision, count in granularity.work.items()},
        "channel_groups": {name: found.name for name, found in granularity.precisions().items()},
        "forward": granularity.forward_backend,
        "switches": granularity.switches,
        "overrides": granularity.overrides,
        "products": offloaded.products if offloaded else 0,
        "cycles": offloaded.cycles if offloaded else 0,
        "bytes_moved": offloaded.bytes_moved if offloaded else 0,
        "flags": offloaded.flags if offloaded else 0,
    }


def combined(workers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The same of all workers together; last precisions are those of the first.

    ``of_fp16`` and ``of_fp32`` say how the bit-operations compare with those of the same products
    in these precisions throughout, forward and backward.
    """
    work = {p: sum(worker["work"][p.name] for worker in workers) for p in Precision}
    total = sum(work.values())
    operations = sum(count * p.bits**2 for p, count in work.items())
    flags = 0
    for worker in workers:
        flags |= worker["flags"]
    return {
        "work": {p.name: count for p, count in work.items()},
        "channel_groups": workers[0]["channel_groups"],
        "forward": ", ".join(sorted({worker["forward"] for worker in workers})),
        "bit_operations": operations,
        "of_fp16": operations / max(1, total * Precision.FP16.bits**2),
        "of_fp32": operations / max(1, total * Precision.FP32.bits**2),
        "flags": flags,
    } | {name: sum(worker[name] for worker in workers) for name in _COUNTS}


def precision_rows(found: dict[str, Any]) -> dict[str, str]:
    """Rows of the table that people see."""
    total = max(1, sum(found["work"].values()))
    mix = ", ".join(f"{n / total:.0%} {name}" for name, n in found["work"].items() if n)
    rows = {
        "forward passes": found["forward"],
        "multiplications": mix,
        "bit-operations": f"{found['bit_operations']:.3g}, {found['of_fp16']:.0%} of FP16's, "
        f"{found['of_fp32']:.1%} of FP32's",
        "precisions": ", ".join(f"{of} {name}" for of, name in found["channel_groups"].items()),
        "changes of precision": f"{found['switches']}, and {found['overrides']} overridden",
    }
    if found["products"]:
        rows["products in the devices"] = (
            f"{found['products']:,} in {found['cycles']:,} cycles, {found['bytes_moved']:,} bytes"
        )
        flags = [str(flag.name).lower() for flag in Flag if flag & found["flags"]]
        rows["flags that they raised"] = ", ".join(flags) or "none"
    return rows
