"""What the codec's benchmark judges, and that it says what it cannot judge."""

import sys
from typing import Any

import _codec_peers
import codec
import numpy as np
import pytest
import torch
from _report import recorded

from adagrain.models.interface.codec import BLOCK


def judged(name: str, density: float, **change: float) -> list[str]:
    """What is missed of a record, some figures of which are others."""
    own = recorded("codec")[name] | change
    bits = {key: value for key, value in own.items() if key.endswith("_bits")}
    speeds = {key: value for key, value in own.items() if "speed" in key}
    return codec._missed("transformer_0.8M", density, bits, speeds)


def test_the_record_misses_nothing() -> None:
    assert not judged("transformer_0.8M_0.1", 0.1) and not judged("transformer_0.8M_0.01", 0.01)


def test_what_is_missed_is_told() -> None:
    worse = {"xz_bits": 12.0, "pcodec_apart_bits": 11.0, "decode_speed_to_zstd_1": 0.9}
    told = judged("transformer_0.8M_0.1", 0.1, **worse)
    assert told == ["xz_bits 12.00 ≤ 12.90", told[-1]]
    assert told[-1] == "decode at 0.90 of zstd-1's speed, not 1.0"


@pytest.mark.parametrize("distance", [1, 255, 256, 70_000])
def test_distances_and_values_are_all_of_a_gradient(distance: int) -> None:
    """Distances from the place before the first one."""
    words = np.zeros(3 * distance, dtype=np.uint16)
    words[distance - 1 :: distance] = 1, 2, 3
    gaps, values = _codec_peers._apart(words)
    joined = np.zeros_like(words)
    joined[gaps.cumsum(dtype=np.int64) - 1] = values
    assert np.array_equal(joined, words)
    assert gaps.dtype.itemsize == 1 + (distance > 255) + 2 * (distance > 65535)


@pytest.mark.parametrize("missing", [[], ["zstandard"], ["zstandard", "pcodec"]])
def test_peers_that_are_not_installed_are_not_judged(
    missing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = torch.Generator().manual_seed(0)
    tensor = torch.randn(4 * BLOCK, generator=draw)
    wholes: list[Any] = []

    def module(name: str) -> Any:
        return None if name in missing else True

    def report(name: str, figures: dict[str, Any], *, whole: bool) -> None:
        wholes.append(whole)

    monkeypatch.setattr(sys, "argv", ["codec.py"])
    monkeypatch.setattr(codec, "TASKS", {"mlp_0.1M": codec.TASKS["mlp_0.1M"]})
    monkeypatch.setattr(codec, "gradients", lambda make, batch, rate, steps: [tensor])
    monkeypatch.setattr(codec, "module", module)
    monkeypatch.setattr(codec, "_bits", lambda tensors, peers: {"adagrain_bits": 10.0})
    monkeypatch.setattr(codec, "_speeds", lambda tensors, zstandard, rounds, name: {})
    monkeypatch.setattr(codec, "report", report)
    if not missing:
        codec.main()
    else:
        with pytest.raises(SystemExit) as ended:
            codec.main()
        told = "; ".join(f"against {name}: not judged" for name in missing)
        assert ended.value.code == f"aims that were missed: {told}"
    assert wholes == [not missing]
