"""The gradient codec: bits of each element that is not zero, and speed, beside general codecs.

Gradients of three networks, early, in the middle and late in training, as BF16, masked by one
threshold over the whole gradient. Ours is a frame with all headers, of one region a parameter; the
others get the same elements as one buffer, pcodec also a buffer for each parameter. Beside them is
what indices of 32 bits and the values take. Times are of one thread, in turns, medians, in the
middle of training: tensors to a frame and back, against a joined buffer to bytes and back.

With ``--defaults`` it derives the default tables from other gradients instead, and prints them.
"""

import argparse
import importlib
import lzma
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from _codec_defaults import print_defaults
from _gradients import NETWORKS, gradients, masked
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

#: Peers that have to be installed: pip install 'adagrain[dev]'.
PEERS = ("zstandard", "pcodec")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--defaults", action="store_true", help="print the default tables")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.defaults:
        print_defaults()
        return
    peers = {name: _module(name) for name in PEERS}
    figures: dict[str, Any] = {}
    missed = []
    for network in NETWORKS:
        print(f"training {network}", flush=True)
        for when, steps in STEPS.items():
            gradient = gradients(network, steps=steps)
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


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is left out: it is not installed (pip install {name})")
        return None


def _raw(tensors: list[torch.Tensor]) -> Any:
    """All elements as one array of words."""
    return torch.cat([x.reshape(-1) for x in tensors]).view(torch.uint16).numpy()


def _bits(tensors: list[torch.Tensor], peers: dict[str, Any]) -> dict[str, float]:
    """Bits for each element that is not +0, by codec."""
    words = _raw(tensors)
    raw = words.tobytes()
    frame = encode(tensors)
    for x, found in zip(tensors, decode(frame), strict=True):
        assert torch.equal(x.reshape(-1).view(torch.int16), found.view(torch.int16))
    sizes = {
        "adagrain": len(frame),
        "adagrain_default_tables": len(encode(tensors, tables=[*DEFAULT_TABLES.values()])),
        "xz": len(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME)),
    }
    if zstandard := peers["zstandard"]:
        for level in (1, 19):
            sizes[f"zstd_{level}"] = len(zstandard.ZstdCompressor(level).compress(raw))
    if peers["pcodec"]:
        sizes["pcodec"] = _pcodec([words])
        sizes["pcodec_by_parameter"] = _pcodec([_raw([x]) for x in tensors])
    places = words.nonzero()[0]
    sizes["index_32_value"] = places.astype("uint32").nbytes + words[places].nbytes
    return {f"{name}_bits": 8 * size / len(places) for name, size in sizes.items()}


def _pcodec(arrays: list[Any]) -> int:
    pcodec = importlib.import_module("pcodec")
    slowest = pcodec.ChunkConfig(compression_level=12)
    return sum(len(pcodec.standalone.simple_compress(array, slowest)) for array in arrays)


def _speeds(tensors: list[torch.Tensor], zstandard: Any, rounds: int, what: str) -> dict[str, Any]:
    """How fast we are, as multiples of zstd-1's speed."""
    frame, tables = encode(tensors), build_tables(histogram(tensors))
    calls: dict[str, Callable[[], object]] = {
        "encode": lambda: encode(tensors),
        "encode_with_given_tables": lambda: encode(tensors, tables=tables),
        "decode": lambda: decode(frame),
    }
    if zstandard:
        raw = _raw(tensors).tobytes()
        compressor, decompressor = zstandard.ZstdCompressor(1), zstandard.ZstdDecompressor()
        packed = compressor.compress(raw)
        calls["zstd_encode"] = lambda: compressor.compress(raw)
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
    peers = {name: value for name, value in bits.items() if not name.startswith("adagrain")}
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
