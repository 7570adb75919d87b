"""Figures in README are those of the records."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from documented_figures import Quote, check, each, listed, part, signed

README = partial(Quote, "README.md")

#: Networks of the benchmark of averages, as they are recorded.
NETWORKS = ("digits", "digits_4", "convolutions", "transformer")

#: The way that README names of those that choose their precision.
CHOSEN = "dynamic, penalty 0.3, INT4 backward"


def _ends(record: Any, name: str) -> tuple[float, float]:
    """Least and most of the recorded networks."""
    found = [record[network][name] for network in NETWORKS]
    return min(found), max(found)


def _margins(record: Any) -> Iterator[float]:
    """Distances of a network that chooses from the frontier, and its loss."""
    own = record[CHOSEN]
    for name in ("accuracy_above_frontier", "loss_below_frontier"):
        yield from (own[name], own[f"{name}_error"])
    yield own["loss"]


def _costs(record: Any, shape: str, *precisions: str) -> Iterator[float]:
    return (record[f"{precision}_to_plain_{shape}"] for precision in precisions)


def _to_peer(own: Any, peer: Any) -> Iterator[float]:
    """Cells and clocks of a unit beside a peer's."""
    yield from (own["LUT"] / peer["LUT"], own["DSP"], peer["DSP"])
    yield from (end(own["MHz"]) / peer["MHz"][0] for end in (min, max))


def _hook(record: Any, way: str) -> Iterator[float]:
    """A way's steps by plain DDP's, for each network."""
    networks = ("transformer_0.8M", "convolutions_0.3M", "mlp_0.1M")
    return (record[f"{way}_to_plain_{network}"] for network in networks)


def _bits(record: Any, *codecs: str) -> Iterator[float]:
    """Of the transformer's elements, at both densities."""
    both = [record[f"transformer_0.8M_{density}"] for density in (0.1, 0.01)]
    for codec in codecs:
        yield from (own[f"{codec}_bits"] for own in both)


def _speeds(record: Any) -> Iterator[float]:
    for density in (0.1, 0.01):
        own = record[f"transformer_0.8M_{density}"]
        for what in ("encode", "encode_with_given_tables", "decode"):
            yield own[f"{what}_speed_to_zstd_1"]


def _one_seed(record: Any) -> Iterator[object]:
    fp16, ours, fewer, rank = (
        record[f"transformer_0.8M_{way}"]
        for way in ("fp16", "threshold_1%", "threshold_1%_2_bits", "powersgd_4")
    )
    yield from (part(own["bytes_of_first"]) for own in (ours, fewer))
    yield from (ours["loss"], fewer["loss"], fp16["loss"])
    yield from (part(rank["bytes_of_first"]), rank["loss"])


def _five_seeds(
    transformer: Any, convolutions: Any, sgd_transformer: Any, sgd_convolutions: Any
) -> Iterator[str]:
    def figures(own: Any, digits: int) -> tuple[str, str, str]:
        change, error = (100 * (own["loss_to_first"] - 1), 100 * own["error_of_ratio"])
        return signed(change, digits), f"{error:.{digits}f}", part(own["bytes_of_first"])

    networks = (transformer, "transformer_0.8M", 2), (convolutions, "conv_0.3M", 1)
    for record, task, digits in networks:
        for way in ("nesterov_4%_2_bits", "nesterov_1%_2_bits"):
            yield from figures(record[f"{task}_{way}"], digits)
    for way in ("threshold_4%_2_bits", "powersgd_4"):
        for record, task, digits in networks:
            yield from figures(record[f"{task}_{way}"], digits)[::2]
    for record, (_, task, digits) in zip(
        (sgd_transformer, sgd_convolutions), networks, strict=True
    ):
        way = "powersgd16_8_nesterov_half_rate"
        yield from figures(record[f"{task}_{way}"], digits)[::2]


def _on_links(slow: Any, faster: Any) -> Iterator[str]:
    ways = "nesterov_1%_2_bits", "powersgd_4", "local_sgd_64"
    for way in ways:
        for link in (slow, faster):
            yield listed(link[f"transformer_0.8M_{way}"]["times_faster_to_loss"], 1)


QUOTES = (
    README(
        "speculation_100_20",
        "for 60 ms takes {:.2f} of plain DDP's with its best buckets.",
        lambda r: (r["adaptive"]["ratio_to_best_ddp"],),
    ),
    README(
        "digits",
        "through RTL, cadence 1, {} seeds | {:.1f} % ({:.1f} to {:.1f}), {:.0f} s each |",
        lambda r: (
            len(r["accuracies"]),
            100 * r["accuracy_mean"],
            *(100 * end(r["accuracies"]) for end in (min, max)),
            r["seconds_maximum"],
        ),
    ),
    README(
        "cadence",
        "| cadences that the devices choose, {} paired seeds | {:.0f} % of the bytes, {:.2f} %, "
        "each way at the learning rate that is best for it |",
        lambda r: (r["seeds"], 100 * r["bytes_ratio"], r["accuracy_policy"]),
    ),
    README(
        "cadence",
        "against cadence 1, {:.2f} % | equal within 0.5 points, p = {:.4f} |",
        lambda r: (r["accuracy_cadence_1"], r["equivalence_p"]),
    ),
    README(
        "cadence",
        "equal bytes ({}), {:.2f} % | no worse by 0.5 points, p = {:.5f} |",
        lambda r: (
            r["fixed_cadences"].strip("()"),
            r["accuracy_fixed"],
            r["not_worse_than_fixed_p"],
        ),
    ),
    README(
        "cadence",
        "everywhere ({:.0f} % of the bytes), {:.2f} % | better, p = {:.3f} |",
        lambda r: (
            100 * r["bytes_ratio_uniform"],
            r["accuracy_uniform"],
            r["better_than_uniform_p"],
        ),
    ),
    README(
        "alpha",
        "off by {:.3f} to {:.3f} (quotient of averages: {:.3f} to {:.3f}), "
        "{:.0f} to {:.0f} updates late |",
        lambda r: (*_ends(r, "error"), *_ends(r, "error_before"), *_ends(r, "lag_updates")),
    ),
    README(
        "simulation",
        "| compiled `statistics` against cocotb and Icarus, elements/s | {:.0f} × |",
        lambda r: (r["ratio"],),
    ),
    README(
        "driver",
        "| driver against the bare clock loop, cycles/s | {:.2f} |",
        lambda r: (r["ratio"],),
    ),
    README(
        "link",
        "upload / both ways at once | {:.1f} % / {:.1f} % of the line's rate |",
        lambda r: (100 * r["upload"], 100 * r["echo"]),
    ),
    README(
        "link",
        "1e-4 / 1e-3 / 1e-2 | {:.2f} / {:.2f} / {:.2f} of the clean line's |",
        lambda r: r["mean_of_clean_rate"].values(),
    ),
    README(
        "granular_digits",
        "digits, {} seeds, penalty 0.3, INT4 backward too | "
        "{:.2f} % with {:.0f} % of fixed FP16's bit-operations (FP32: {:.2f} %) |",
        lambda r: (
            r["seeds"],
            r[CHOSEN]["accuracy"],
            100 * r[CHOSEN]["bit_operations_to_fp16"],
            r["FP32"]["accuracy"],
        ),
    ),
    README(
        "granular_text",
        "| the same, character transformer, {} seeds | "
        "loss {:.2f} % above FP32's with {:.0f} % of FP16's bit-operations |",
        lambda r: (
            r["seeds"],
            100 * r[CHOSEN]["loss_to_fp32"],
            100 * r[CHOSEN]["bit_operations_to_fp16"],
        ),
    ),
    README(
        "granular_digits",
        "| digits: accuracy {:.2f} ± {:.2f} points above, loss {:.3f} ± {:.3f} below (of {:.3f});",
        _margins,
    ),
    README(
        "granular_text",
        "; text: {:.2f} ± {:.2f} points, {:.4f} ± {:.4f} (of {:.3f}) |",
        _margins,
    ),
    README(
        "granular_cost",
        "INT8 {:.1f} ×, INT4 {:.1f} ×, FP32 {:.1f} ×, FP16 {:.1f} ×, choosing {:.1f} × |",
        lambda r: _costs(r, "256x512x512", "INT8", "INT4", "FP32", "FP16", "choosing"),
    ),
    README(
        "granular_cost",
        "| INT8 {:.1f} ×, INT4 {:.1f} ×, FP16 {:.1f} ×, choosing {:.1f} ×; "
        "INT8 {:.1f} ×, INT4 {:.1f} ×, FP16 {:.1f} ×, choosing {:.1f} × |",
        lambda r: (
            *_costs(r, "64x256x256", "INT8", "INT4", "FP16", "choosing"),
            *_costs(r, "conv_32x32x16x16_64", "INT8", "INT4", "FP16", "choosing"),
        ),
    ),
    README(
        "codec_device",
        "with their handlers | {:.1f} to {:.1f}, {:.1f} to {:.1f} cycles an element |",
        lambda r: (
            r[f"{what}_cycles_per_element_at_{density}"]
            for what in ("encode", "decode")
            for density in (0.01, 0.3)
        ),
    ),
    README(
        "slices",
        "without integers | {:.2f} × the LUTs, {} DSPs to {}, {:.1f} to {:.1f} × the clock |",
        lambda r: _to_peer(r["slice"], r["CVFPU, FP32 or 2 FP16 or 2 BF16 or 4 FP8"]),
    ),
    README(
        "slices",
        "against MARLANN, INT8 products/s | {:.2f} to {:.2f} × |",
        lambda r: (
            end(r["granularity_unit"]["INT8 M MAC/s"])
            / r["MARLANN, INT8 alone, programmable"]["INT8 M MAC/s"][0]
            for end in (min, max)
        ),
    ),
    README(
        "hook_cost",
        "MLP of 0.1M ({:.0f} ms) | cadence 1: {:.3f} × (quartiles of the rounds {:.2f} and {:.2f}; "
        "all steps, {:.3f})",
        lambda r: (
            r["plain_mlp_0.1M_ms"],
            r["cadence_1_to_plain_transformer_0.8M"],
            *r["cadence_1_to_plain_transformer_0.8M_quartiles"],
            r["cadence_1_to_plain_transformer_0.8M_mean"],
        ),
    ),
    README(
        "hook_cost",
        "), {:.3f} × (quartiles {:.2f} and {:.2f}; all steps, {:.3f}), {:.1f} ×; cadences to 4: "
        "{:.2f}, {:.2f}, {:.1f} ×; PyTorch's own hook that does "
        "what plain DDP does: {:.3f}, {:.2f}, {:.1f} × |",
        lambda r: (
            r["cadence_1_to_plain_convolutions_0.3M"],
            *r["cadence_1_to_plain_convolutions_0.3M_quartiles"],
            r["cadence_1_to_plain_convolutions_0.3M_mean"],
            r["cadence_1_to_plain_mlp_0.1M"],
            *_hook(r, "cadence_to_4"),
            *_hook(r, "torch_hook"),
        ),
    ),
    README(
        "codec",
        "| {:.1f} / {:.1f} (pcodec {:.1f} / {:.1f}, by parameter {:.1f} / {:.1f}; "
        "xz {:.1f} / {:.1f}; zstd-19 {:.1f} / {:.1f}; zstd-1 {:.1f} / {:.1f}) |",
        lambda r: _bits(r, "adagrain", "pcodec", "pcodec_by_parameter", "xz", "zstd_19", "zstd_1"),
    ),
    README(
        "codec",
        "| 10 %: {:.1f} ×, {:.1f} ×, {:.1f} ×; 1 %: {:.2f} ×, {:.1f} ×, {:.2f} × (on",
        _speeds,
    ),
    README(
        "compression",
        "| 1/{} and 1/{} of the FP16 hook's bytes, loss {:.3f} and {:.3f} "
        "(FP16: {:.3f}; PowerSGD of rank 4: 1/{}, {:.3f}) |",
        _one_seed,
    ),
    README(
        "compression_240_steps_transformer_0.8M compression_240_steps_conv_0.3M "
        "compression_240_steps_transformer_0.8M_powersgd "
        "compression_240_steps_conv_0.3M_powersgd",
        "| {} ± {} % at 1/{}, {} ± {} % at 1/{}; {} ± {} % at 1/{}, {} ± {} % at 1/{} "
        "(a threshold without it: {} % at 1/{}; {} % at 1/{}; "
        "PowerSGD of rank 4: {} % at 1/{}; {} % at 1/{}, of rank 8 with factors of FP16 and "
        "Nesterov's momentum at half the rate {} % at 1/{}; {} % at 1/{}) |",
        _five_seeds,
    ),
    README(
        "compression_link_10 compression_link_100",
        "| {} ×; {} × (PowerSGD of rank 4: {}; {}; local SGD every 64 steps: {}; {}) |",
        _on_links,
    ),
    README(
        "statistics_golden",
        "sum + dot + aminmax | takes {:.1f} × as long (powers 1–2), {:.1f} × (all, histogram) |",
        lambda r: (r["powers_1_2_ratio"], r["all_and_histogram_ratio"]),
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
