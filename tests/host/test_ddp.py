"""The DDP front-end, with real workers on gloo."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from process_groups import WorkerServer
from torch import nn

import adagrain

WORKER = Path(__file__).parent / "ddp_worker.py"
Train = Callable[..., dict[str, Any]]
CADENCES = ("--cadence", "noise", "--cadences", '{"first": 4, "second": 2}')


@pytest.fixture(scope="module")
def train(server: WorkerServer) -> Train:
    """The results of a run's workers, which must be the same."""

    def run(*arguments: str, count: int = 2) -> dict[str, Any]:
        ended = server.run(WORKER, *arguments, count=count)
        for worker in ended:
            assert worker.returncode == 0, worker.stderr[-3000:]
        results = [json.loads(worker.stdout.splitlines()[-1]) for worker in ended]
        for result in results:
            del result["rank"]
        assert all(result == results[0] for result in results), results
        return results[0]

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("--optimizer", "sgd"),
        ("--optimizer", "adamw"),
        ("--optimizer", "sgd_foreach"),
        ("--optimizer", "sgd_fused"),
        ("--no-sync", "2"),
        ("--no-sync", "3", "--sync-all"),
        ("--no-sync", "2", "--sync-all", "--keep-zeros", "--optimizer", "adamw"),
        ("--no-sync", "2", "--sync-all", "--clip", "0.05", "--clip-all"),
        ("--no-sync", "2", "--sync-all", "--ddp", '{"gradient_as_bucket_view": true}'),
        ("--no-sync", "2", "--sync-all", "--odd", "--ddp", '{"find_unused_parameters": true}'),
        ("--closure", "--schedule", "--clip", "0.05"),
        ("--split", "--schedule", "--clip", "0.05", "--optimizer", "adamw"),
        ("--clip", "0.05", "--optimizer", "adamw"),
        ("--odd", "--ddp", '{"find_unused_parameters": true}'),
    ],
    ids=" ".join,
)
def test_cadence_1_equals_plain_ddp(arguments: tuple[str, ...], train: Train) -> None:
    assert train(*arguments)["sha256"] == train("--plain", *arguments)["sha256"]


@pytest.mark.parametrize(
    "arguments",
    [("--closure",), ("--split",), ("--compile-step",), ("--split", "--resume-at", "9")],
)
def test_ways_to_step_are_equal_at_cadences(
    arguments: tuple[str, ...], accumulated: dict[str, object], train: Train
) -> None:
    assert train(*CADENCES, *arguments) == accumulated


@pytest.mark.full  # as at cadences, above
def test_a_step_may_be_compiled(train: Train) -> None:
    compiled = train("--compile-step", "--steps", "4")
    assert compiled["sha256"] == train("--steps", "4")["sha256"]


def test_clipping_does_something(train: Train) -> None:
    assert train("--clip", "0.05")["sha256"] != train()["sha256"]


def test_at_three_workers_decided_cadence_1_equals_cadence_off(train: Train) -> None:
    decided = train("--cadence", "fixed", "--steps", "8", count=3)
    assert decided["sha256"] == train("--steps", "8", count=3)["sha256"]


@pytest.fixture(scope="module")
def accumulated(train: Train) -> dict[str, object]:
    """A run with cadences 4, 2 and 1, some of which the policy changes."""
    return train(*CADENCES)


def test_cadences_save_bytes(accumulated: dict[str, int]) -> None:
    assert accumulated["sent"] < 0.6 * accumulated["dense"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--device", "sim:"),
        ("--resume-at", "11"),
        ("--keep-zeros",),
        ("--compile",),
        ("--ddp", '{"static_graph": true}'),
        ("--ddp", '{"gradient_as_bucket_view": true}'),
        ("--ddp", '{"bucket_cap_mb": 0.0005}'),
    ],
    ids=" ".join,
)
def test_same_weights_and_decisions(
    arguments: tuple[str, ...], accumulated: dict[str, object], train: Train
) -> None:
    assert train(*CADENCES, *arguments) == accumulated


def test_rows_are_updated_at_their_own_cadence(train: Train) -> None:
    cadences = ("--cadence", "fixed", "--cadences", '{"first.weight[0:4]": 4}')
    whole = train("--by", "rows:3", "--optimizer", "adamw")
    assert whole["sha256"] == train("--plain", "--optimizer", "adamw")["sha256"]
    assert train("--by", "rows:3", "--optimizer", "adamw", *cadences)["sha256"] != whole["sha256"]


def test_gradients_that_are_not_finite_are_dropped_on_all_workers(train: Train) -> None:
    assert train("--poison", "5")["dropped"] == 3


def test_a_lost_worker_ends_the_others(server: WorkerServer) -> None:
    survivor, lost = server.run(WORKER, "--die", "5")
    assert lost.returncode == 3
    assert survivor.returncode == 1
    assert "WorkerLostError: a worker was lost in the" in survivor.stderr


def test_join_is_refused(server: WorkerServer) -> None:
    for process in server.run(WORKER, "--join"):
        assert process.returncode != 0
        assert "DistributedDataParallel.join does not work with adagrain" in process.stderr


def test_other_wrappers_are_refused_by_name() -> None:
    class FSDPModule(nn.Module):
        pass

    optimizer = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)
    with pytest.raises(TypeError, match=r"FSDP2 \(fully_shard\) does not work with adagrain"):
        adagrain.register(FSDPModule(), optimizer)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"torch\.compile must be inside"):
        adagrain.register(torch.compile(nn.Linear(1, 1)), optimizer)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a DistributedDataParallel, not Linear"):
        adagrain.register(nn.Linear(1, 1), optimizer)  # type: ignore[arg-type]
