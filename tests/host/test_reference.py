"""Distributed training against a NumPy trainer that shares no code with it."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from process_groups import WorkerServer
from reference_trainer import Case, first_weights, trained

WORKER = Path(__file__).parent / "reference_worker.py"

MOMENTUM = {"lr": 0.03, "momentum": 0.8, "weight_decay": 0.02}
ADAMW = {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1}
MODULES = {"first": 4, "last": 2}
REST = {"first.weight": 4, "first.bias": 2}
ROWS = {"first.weight[0:3]": 2, "first.weight[3:6]": 8, "last.weight[0:1]": 4}

CASES = {
    "cadence 1": Case(settings=MOMENTUM),
    "modules": Case(settings=MOMENTUM, cadences=MODULES),
    "modules, cap": Case(settings=MOMENTUM, cadences=MODULES, cap=0.07),
    "tensors": Case(by="tensor", cadences={"first.weight": 8, "first.bias": 2}),
    "rows": Case(settings=MOMENTUM, by="rows:2", cadences=ROWS),
    "AdamW": Case("adamw", ADAMW, cadences=MODULES),
    "AdamW, rows": Case("adamw", ADAMW, by="rows:2", cadences=ROWS),
    "two passes": Case(settings=MOMENTUM, passes=2, cadences=MODULES),
    "three passes, AdamW, rows": Case("adamw", ADAMW, by="rows:2", cadences=ROWS, passes=3),
    "no_sync": Case(settings=MOMENTUM, passes=3, no_sync=True, cadences=MODULES),
    "clipping": Case(settings=MOMENTUM, clip=0.2, cadences=MODULES),
    "clipping, two passes": Case("adamw", ADAMW, clip=0.2, cadences=MODULES, passes=2),
    "schedule": Case(settings=MOMENTUM, decay=0.9, cadences=MODULES),
    "in no region": Case(settings=MOMENTUM, aside=True, cadences={"first": 4}, passes=2),
    "used in even steps": Case(settings=MOMENTUM, resting=True, by="tensor", cadences=REST),
    "used in even steps, two passes": Case(
        settings=MOMENTUM, resting=True, by="tensor", cadences=REST, passes=2
    ),
    "used in even steps, zeros": Case(
        settings=MOMENTUM, resting=True, zeros=True, by="tensor", cadences=REST
    ),
    "forward passes of one worker": Case(settings=MOMENTUM, strays=True, cadences=MODULES),
    "three workers": Case(settings=MOMENTUM, cadences=MODULES, passes=2, workers=3),
}


@pytest.mark.parametrize("name", CASES)
def test_training_equals_its_definition(name: str, server: WorkerServer) -> None:
    case = CASES[name]
    ended = server.run(WORKER, json.dumps(asdict(case)), count=case.workers)
    assert [worker.returncode for worker in ended] == [0] * case.workers, ended[0].stderr[-2000:]
    found = [json.loads(worker.stdout) for worker in ended]
    assert all(own == found[0] for own in found)
    for parameter, wanted in trained(case).items():
        moved = np.abs(wanted - first_weights()[parameter]).max()
        error = np.abs(np.array(found[0][parameter]) - wanted).max()
        assert error < 1e-4 * moved, parameter
