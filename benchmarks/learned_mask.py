"""The learned mask against others in as many bytes, over several seeds; and what it takes.

Two workers on gloo train the MLP, the convolutions or the transformer of ``compression.py``, each
way in turn, from the same weights on the same batches. Each way has the same budget, 3, 7 or 21 kB
that a worker puts into its slot in a pass, of which what learns from probes spends a part on these.
Losses are of what is held out; they are compared seed by seed with those of ``threshold``. Time is
the processor's, as a part of a step's: of all that a mask does, and of all but to choose what is
kept, which is what the network and what it sees take.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from _compression_ways import MASKED
from _figures import standard_error
from _lab_options import add_record_option
from _options import check_ways, positive
from _report import check_replaces, report
from _workers import Place
from compression import STEPS, outcomes_of

#: Budgets by task, as they are called in the names of ways.
BUDGETS = {"mlp_0.1M": "3kB", "conv_0.3M": "7kB", "transformer_0.8M": "21kB"}

#: Without their budgets. The first one is what others are held against.
WAYS = (
    *("threshold", "threshold_before", "top_by_share", "random", "learned"),
    *("learned_value", "learned_value_16", "learned_seed_features", "learned_no_features"),
)


#: Standard errors that are no difference; what learning may take, as a part of a step.
NOISE, MOST_TIME = 2, 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=BUDGETS, default="mlp_0.1M")
    parser.add_argument("--steps", type=positive)
    parser.add_argument("--seeds", type=positive, default=5)
    parser.add_argument("--ways", nargs="+", help="names, with their budgets")
    add_record_option(parser)
    options = parser.parse_args()
    check_ways(parser, options.ways or (), MASKED)
    ways = options.ways or [f"{way}_{BUDGETS[options.task]}" for way in WAYS]
    task = "" if options.task == "mlp_0.1M" else f"_{options.task}"
    name = options.record or f"learned_mask{task}"
    steps = options.steps or STEPS[options.task]
    whole = options.record is not None or len(sys.argv) == 1
    if whole:
        check_replaces(name, ways, options.seeds, steps)
    job = {
        "tasks": {options.task: steps},
        "seeds": [*range(options.seeds)],
        "ways": ways,
        "to_loss": False,
    }
    outcomes = outcomes_of(job, [Place((), {"MASTER_ADDR": "127.0.0.1"})] * 2)
    by_way = {way: [own for own in outcomes if own["way"] == way] for way in ways}
    first, *_ = by_way.values()
    figures = {way: _row(own, first, steps) for way, own in by_way.items()}
    report(name, figures, whole=whole, keep="--record")
    sys.exit("; ".join(beyond_aims(figures, BUDGETS[options.task])) or None)


def beyond_aims(figures: Mapping[str, Mapping[str, Any]], budget: str) -> Iterator[str]:
    """Where the mask with the idea's losses falls short of others, or takes too long."""
    threshold, learned, *simpler = (
        figures.get(f"{way}_{budget}") for way in ("threshold", "learned", "top_by_share", "random")
    )
    if not learned or not threshold:
        return
    loss, error = learned["loss_to_first"], learned["standard_error"]
    if loss - NOISE * error > threshold["loss_to_first"]:
        yield f"learned must be as good as the threshold, not {loss:.4f} ± {error:.4f} of its loss"
    for own in simpler:
        if own and own["loss_to_first"] <= loss:
            yield f"learned must be better than {own['loss_to_first']:.4f}, not {loss:.4f}"
    if (taken := learned["learning_of_a_step"]) >= MOST_TIME:
        yield f"learned must take less than {MOST_TIME:.0%} of a step, not {taken:.1%}"


def _row(own: list[dict[str, Any]], first: list[dict[str, Any]], steps: int) -> dict[str, Any]:
    ratios = [one["loss"] / other["loss"] for one, other in zip(own, first, strict=True)]
    return {
        "loss": statistics.mean(one["loss"] for one in own),
        "loss_to_first": statistics.mean(ratios),
        "standard_error": standard_error(ratios),
        "bytes_to_first": _sum(own, "bytes") / _sum(first, "bytes"),
        "bytes_a_step": _sum(own, "bytes") / len(own) / steps,
        "overflows": _sum(own, "overflows") / len(own),
        "mask_of_a_step": _sum(own, "masking") / len(own),
        "learning_of_a_step": _sum(own, "learning") / len(own),
        "losses": [one["loss"] for one in own],
        "steps": steps,
    }


def _sum(outcomes: list[dict[str, Any]], name: str) -> float:
    return sum(own[name] for own in outcomes)


if __name__ == "__main__":
    main()
