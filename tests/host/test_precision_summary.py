"""The summary of a granular run, in JSON and to people."""

import pytest
import torch
from torch import nn

from adagrain.host.granular import Granularity, Policy, convert
from adagrain.host.train.precisions import combined, precision_counts, precision_rows
from adagrain.models.arithmetic.float import Flag


def counts(work: dict[str, int], **changes: object) -> dict[str, object]:
    found = {
        "work": dict.fromkeys(("FP32", "FP16", "INT8", "INT4"), 0) | work,
        "channel_groups": {"one": "INT8"},
        "forward": "golden model",
        "flags": 0,
    }
    counters = dict.fromkeys(("switches", "overrides", "products", "cycles", "bytes_moved"), 0)
    return found | counters | changes


def test_workers_are_added_up() -> None:
    found = combined(
        [
            counts({"INT8": 300}, products=2, cycles=50, bytes_moved=9, flags=int(Flag.OVERFLOW)),
            counts({"INT4": 100}, overrides=3, flags=int(Flag.INEXACT)),
        ]
    )
    assert found["bit_operations"] == 300 * 64 + 100 * 16
    assert found["of_fp16"] == pytest.approx((300 * 64 + 100 * 16) / (400 * 256))
    assert found["flags"] == Flag.OVERFLOW | Flag.INEXACT
    assert precision_rows(found) == {
        "forward passes": "golden model",
        "multiplications": "75% INT8, 25% INT4",
        "bit-operations": "2.08e+04, 20% of FP16's, 5.1% of FP32's",
        "precisions": "one INT8",
        "changes of precision": "0, and 3 overridden",
        "products in the devices": "2 in 50 cycles, 9 bytes",
        "flags that they raised": "inexact, overflow",
    }


def test_what_no_device_computed_is_not_told_of() -> None:
    rows = precision_rows(combined([counts({"FP32": 5})]))
    assert "products in the devices" not in rows
    assert "flags that they raised" not in rows


def test_counts_are_the_granularity_s() -> None:
    model = convert(nn.Linear(6, 4), Policy(fixed="INT4"))
    with Granularity(model, offload=1) as granularity:
        model(torch.randn(3, 6)).sum().backward()
        granularity.step()
        found = precision_counts(granularity)
    assert found["work"] == {"FP32": 0, "FP16": 0, "INT8": 72, "INT4": 72}
    assert found["channel_groups"] == {"Linear": "INT4"}
    assert found["products"] == 1
    assert found["bytes_moved"] > 0
