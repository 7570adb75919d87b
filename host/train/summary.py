"""Summary of a run at its end: ``summary.json``, a picture, a table."""

import json
import platform
from collections import Counter
from typing import IO, Any

import torch
import torch.distributed as dist
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from adagrain import __version__
from adagrain.host.files import replace_file, replace_text

from .fingerprint import weights_sha256
from .folder import PICTURE, SUMMARY
from .guesses import guesses, guesses_rows
from .history import History
from .options import TrainingOptions
from .picture import draw
from .precisions import combined, precision_counts, precision_rows
from .run_status import RunStatus, status_of
from .traffic import traffic, traffic_rows
from .training import Training

__all__ = ["summarise"]


def summarise(
    options: TrainingOptions,
    training: Training,
    *,
    history: History | None,
    counts: dict[str, int],
    accuracy: float | None,
    seconds: float,
    console: Console,
) -> RunStatus | None:
    """Write the summary and the picture, and print the table; every worker calls it.

    Parameters
    ----------
    options : TrainingOptions
        The run's.
    training : Training
        This worker's, at its end.
    history : History or None
        What happened in it; kept by rank 0.
    counts : dict
        What its device has counted, resumed parts together.
    accuracy : float or None
        Rank 0's, on the test part.
    seconds : float
        Time that the training took, resumed parts together.
    console : Console
        Where the table goes; quiet on all workers but rank 0.

    Returns
    -------
    RunStatus or None
        Whether the run can be trusted; ``None`` on all workers but rank 0.
    """
    handle = training.handle
    own: dict[str, Any] = {
        "backend": handle.run.device.backend,
        "counts": counts,
        "precisions": precision_counts(training.granularity) if training.granularity else None,
        "frames": handle.frames.counts.state_dict() if handle.frames else None,
    }
    workers: list[dict[str, Any]] = [{} for _ in range(dist.get_world_size())]
    dist.all_gather_object(workers, own)
    if history is None:
        return None
    return _write(options, training, history, workers, accuracy, seconds, console)


def _write(
    options: TrainingOptions,
    training: Training,
    history: History,
    workers: list[dict[str, Any]],
    accuracy: float | None,
    seconds: float,
    console: Console,
) -> RunStatus:
    handle = training.handle
    counters = [worker["counts"] for worker in workers]
    finite = all(bool(p.isfinite().all()) for p in training.network.parameters())
    status = status_of(history, finite=finite)
    summary: dict[str, Any] = {
        "status": status,
        "accuracy": accuracy,
        "steps": handle.run.steps,
        "seconds": round(seconds, 2),
        "workers": options.workers,
        "backend": ", ".join(sorted({worker["backend"] for worker in workers})),
        "device_cycles": sum(c["cycles"] for c in counters),
        "device_elements": sum(c["elements"] for c in counters),
        "device_encoded": sum(c["encoded"] for c in counters),
        "device_decoded": sum(c["decoded"] for c in counters),
        "device_tile_words": sum(c["tile_words"] for c in counters),
        "decisions": sum(c["decisions"] for c in counters),
        "decision_cycles": max(c["decision_cycles"] for c in counters),
        "restored": sum(c["restored"] for c in counters),
        "fallbacks": sum(c["fallbacks"] for c in counters),
        "bytes_sent": handle.run.bytes_sent,
        "bytes_dense": handle.run.bytes_dense,
        "dropped": handle.run.dropped,
        "cadences": handle.run.cadences,
        "weights_sha256": weights_sha256(training.network),
        "seed": options.seed,
        "options": options.recorded() | {"device_preset": options.built_with},
        "versions": {
            "adagrain": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }
    if training.granularity:
        summary["precisions"] = combined([worker["precisions"] for worker in workers])
    if handle.frames:
        elements = handle.run.bytes_dense // torch.float32.itemsize
        counted = [worker["frames"] for worker in workers]
        coder = summary["backend"] if summary["device_encoded"] else "golden codec"
        network = summary["backend"] if options.network == "device" else "golden network"
        summary["compression"] = traffic(
            *(history, handle.frames, counted),
            elements=elements,
            coder=coder,
            masking=summary["backend"] if handle.frames.masked_by_coder else "host",
            network=network if options.mask == "learned" else None,
        )
    if options.speculation:
        summary["speculation"] = guesses(history)
    _draw(options, training, history, summary["backend"])
    replace_text(options.folder / SUMMARY, json.dumps(summary, indent=2) + "\n")
    console.print(_table(summary, options))
    return status


def _draw(options: TrainingOptions, training: Training, history: History, backend: str) -> None:
    """The picture; before the summary, with which a run is whole."""

    def write(file: IO[bytes]) -> None:
        draw(
            *(history, file),
            title=f"{options.name}: {options.data}, {options.workers} workers, {backend}",
            workers=options.workers,
            noise=options.noise,
            settings=training.handle.run.device.tables["region_manager"].settings() or {},
        )

    replace_file(options.folder / PICTURE, write)


def _table(summary: dict[str, Any], options: TrainingOptions) -> Table:
    cadences = Counter(summary["cadences"].values())
    sent = summary["bytes_sent"] / max(1, summary["bytes_dense"])
    part = f"{sent:.1%}" if sent < 0.1 else f"{sent:.0%}"
    rows = {
        "accuracy": f"{summary['accuracy']:.2%}",
        "time": f"{summary['seconds']:.1f} s for {summary['steps']} steps",
        "regions by cadence": ", ".join(f"{n} at {c}" for c, n in sorted(cadences.items())),
        "backend": summary["backend"],
        "bytes sent per worker": f"{summary['bytes_sent']:,} ({part} of dense FP32)",
        "cycles in the devices": f"{summary['device_cycles']:,}",
        "elements in the devices": f"{summary['device_elements']:,}",
        "decisions": f"{summary['decisions']:,}, at most {summary['decision_cycles']} cycles each",
        "weights": summary["weights_sha256"][:16] + "…",
        "files": str(options.folder),
    }
    if "precisions" in summary:
        rows |= precision_rows(summary["precisions"])
    if "compression" in summary:
        rows |= traffic_rows(summary["compression"])
    if "speculation" in summary:
        rows |= guesses_rows(summary["speculation"], summary["steps"])
    if summary["status"] is not RunStatus.FINISHED:
        rows = {"STATUS": str(summary["status"])} | rows
    if summary["fallbacks"]:
        rows["DEVICES THAT FAILED"] = f"{summary['fallbacks']}; the golden model took over"
    if summary["dropped"]:
        rows["updates dropped"] = f"{summary['dropped']}, of gradients that were not finite"
    title = escape(f"run {options.name}")
    table = Table("", "", title=title, show_header=False, title_justify="left")
    for name, value in rows.items():
        table.add_row(name, escape(value))
    return table
