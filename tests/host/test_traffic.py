"""What a compressed run has sent, in its summary and to people."""

from types import SimpleNamespace
from typing import Any

import pytest

from adagrain.host.distributed.sent import Sent
from adagrain.host.train.history import History
from adagrain.host.train.traffic import traffic, traffic_rows

COUNTS = {"overflows": 0, "left_out": 0, "refused": 0, "dense_after_refusal": 0, "void": 0}


def found(sent: dict[str, list[Sent]], counts: list[dict[str, int]], bytes_sent: int) -> Any:
    history = History()
    for name, own in sent.items():
        history.regions[name].sent = own
    exchange: Any = SimpleNamespace(bytes_sent=bytes_sent, bypass=SimpleNamespace(record={8: True}))
    by = {"coder": "golden codec", "masking": "host", "network": None}
    return traffic(history, exchange, counts, elements=10_000, **by)


def test_regions_and_workers_are_added_up() -> None:
    sent = {"one": [Sent(1000, 10, 150), Sent(1000, 30, 450)], "two": [Sent(500, 0, 0)]}
    common = {"dense_after_refusal": 2, "void": 3}
    first, second = COUNTS | {"overflows": 2} | common, COUNTS | {"overflows": 1} | common
    told = found(sent, [first, second], 400)
    assert told == {
        "coder": "golden codec",
        "masking": "host",
        "network": None,
        "bytes_dense_bf16": 20_000,
        "of_dense_bf16": 0.02,
        "frames_of_dense_bf16": 600 / 8 / 20_000,
        "density": 40 / 2500,
        "bits_per_nonzero": 15.0,
        "regions": {
            "one": {"density": 0.02, "bits_per_nonzero": 15.0},
            "two": {"density": 0.0, "bits_per_nonzero": None},
        },
        "overflows": 3,
        "left_out": 0,
        "refused": 0,
        "dense_after_refusal": 2,
        "void": 3,
        "bypass": {"8": True},
    }
    assert traffic_rows(told) == {
        "frames coded by": "golden codec",
        "elements masked by": "host",
        "bytes against dense BF16": "1/50.0, 2.00%; frames alone 0.38%",
        "density": "1.60% at 15.0 bits",
        "density by region": "one 2.00% at 15.0 bits, two 0.00%",
        "frames that did not go as they should": "3 overflowed, 3 void, 2 dense after refusal",
    }


def test_what_went_well_is_not_told_of() -> None:
    assert list(traffic_rows(found({"one": [Sent(9, 1, 20)]}, [COUNTS], 0))) == [
        "frames coded by",
        "elements masked by",
        "bytes against dense BF16",
        "density",
        "density by region",
    ]


def test_what_was_sent_is_added_up() -> None:
    both = Sent(100, 5, 80).plus(Sent(100, 15, 320))
    assert both == Sent(200, 20, 400)
    assert (both.density, both.bits_per_nonzero) == (0.1, 20.0)
    assert Sent(100, 0, 0).bits_per_nonzero is None


@pytest.mark.parametrize("bytes_sent", [0, 1])
def test_ever_so_little(bytes_sent: int) -> None:
    assert traffic_rows(found({}, [COUNTS], bytes_sent))["density"] == "0.00%"
