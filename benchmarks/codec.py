"""The gradient codec: bits of each element that is not zero, and speed, beside general codecs.

Gradients of the three networks of ``compression.py``, early, in the middle and late in training, as
BF16, masked by one threshold over the whole gradient. Ours is a frame with all headers, of one
region a parameter; the others get the same elements as one buffer, pcodec also a buffer for each
parameter, xz also told that these are words of 16 bits. Beside them is what indices of 32 bits and
the values take; and what zstd-19 and pcodec take of distances and values apart, with neither
regions nor a checksum. Times are of one thread, in turns, medians, in the middle of training:
tensors to a frame and back, against a joined buffer to bytes and back.

With ``--defaults`` it derives tables from other gradients, as the defaults were, and prints them.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _codec_defaults import print_defaults
from _codec_peers import PEERS, module, raw, sizes
from _compression_ways import TASKS
from _gradients import gradients, masked
from _options import positive
from _report import report
from rich.progress import track

from adagrain.models.codec import DEFAULT_TABLES, build_tables, decode, encode, histogram

DENSITIES = 0.1, 0.01

#: Steps of training by the end of the figures' names.
STEPS = {"_early": 10, "": 60, "_late": 400}
ROUNDS = 200

#: Aims on the transformer: most bits by density, least speed against zstd-1.
AIMED = "transformer_0.8M"
BITS = {0.1: 14.0, 0.01: 16.5}
ENCODE, DECODE = {0.1: 1.0, 0.01: 0.5}, {0.1: 1.0, 0.01: 1.0}

#: Peers that get more than the masked gradient, and are not judged by.
APART = ("zstd_19_apart_bits", "pcodec_apart_bits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--defaults", action="store_true", help="derive tables as the defaults were, and print them"
    )
    parser.add_argument("--rounds", type=positive, default=ROUNDS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.defaults:
        print_defaults()
        return
    peers = {name: module(name) for name in PEERS}
    figures: dict[str, Any] = {}
    missed = []
    for network, task in TASKS.items():
        print(f"training {network}", flush=True)
        for when, steps in STEPS.items():
            gradient = gradients(task.make, task.batch, task.rate, steps=steps)
            for density in DENSITIES:
                name, own = f"{network}_{density:g}{when}", masked(gradient, density)
                bits = _bits(own, peers)
                speeds = {} if when else _speeds(own, peers["zstandard"], options.rounds, name)
                figures[name] = {**bits, **speeds}
                missed += [f"{name}: {what}" for what in _missed(network, density, bits, speeds)]
    left_out = [name for name, module in peers.items() if module is None]
    figures["left_out"] = ", ".join(left_out)
    report("codec", figures, whole=options.rounds >= ROUNDS and not left_out)
    not_judged = [f"against {name}: not judged" for name in left_out]
    if missed or not_judged:
        sys.exit(f"aims that were missed: {'; '.join(missed + not_judged)}")


def _bits(tensors: list[torch.Tensor], peers: dict[str, Any]) -> dict[str, float]:
    """Bits for each element that is not +0, by codec."""
    frame = encode(tensors)
    for x, found in zip(tensors, decode(frame), strict=True):
        assert torch.equal(x.reshape(-1).view(torch.int16), found.view(torch.int16))
    taken = {
        "adagrain": len(frame),
        "adagrain_default_tables": len(encode(tensors, tables=[*DEFAULT_TABLES.values()])),
        **sizes(tensors, peers),
    }
    count = int(np.count_nonzero(raw(tensors)))
    return {f"{name}_bits": 8 * size / count for name, size in taken.items()}


def _speeds(tensors: list[torch.Tensor], zstandard: Any, rounds: int, what: str) -> dict[str, Any]:
    """How fast we are, as multiples of zstd-1's speed."""
    frame, tables = encode(tensors), build_tables(histogram(tensors))
    calls: dict[str, Callable[[], object]] = {
        "encode": lambda: encode(tensors),
        "encode_with_given_tables": lambda: encode(tensors, tables=tables),
        "decode": lambda: decode(frame),
    }
    if zstandard:
        data = raw(tensors).tobytes()
        compressor, decompressor = zstandard.ZstdCompressor(1), zstandard.ZstdDecompressor()
        packed = compressor.compress(data)
        calls["zstd_encode"] = lambda: compressor.compress(data)
        calls["zstd_decode"] = lambda: decompressor.decompress(packed)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in track(range(rounds), what):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    if not zstandard:
        return {}
    return {
        "encode_speed_to_zstd_1": median["zstd_encode"] / median["encode"],
        "encode_with_given_tables_speed_to_zstd_1": median["zstd_encode"]
        / median["encode_with_given_tables"],
        "decode_speed_to_zstd_1": median["zstd_decode"] / median["decode"],
    }


def _missed(
    network: str, density: float, bits: dict[str, float], speeds: dict[str, Any]
) -> list[str]:
    """What is beyond an aim."""
    own = bits["adagrain_bits"]
    peers = {
        name: value
        for name, value in bits.items()
        if not name.startswith("adagrain") and name not in APART
    }
    missed = [f"{name} {value:.2f} ≤ {own:.2f}" for name, value in peers.items() if value <= own]
    if network == AIMED:
        if own > BITS[density]:
            missed.append(f"{own:.2f} bits, not {BITS[density]}")
        for way, least in (("encode", ENCODE[density]), ("decode", DECODE[density])):
            speed = speeds.get(f"{way}_speed_to_zstd_1")
            if speed is not None and speed < least:
                missed.append(f"{way} at {speed:.2f} of zstd-1's speed, not {least}")
    return missed


if __name__ == "__main__":
    main()
