"""Speculation that goes wrong: named on all workers, without a deadlock."""

from pathlib import Path

import pytest
from process_groups import WorkerServer

WORKER = Path(__file__).parent / "speculation_misuse_worker.py"

FAILED = "WorkerFailedError: worker 1 failed: "
UNUSED = "RuntimeError: parameter 'b.weight' must get a gradient in every backward pass, but got no"
MISSING = "KeyError: 'no such thing'"
BATCH = "RuntimeError: a closure must do the same when it is run again, but the inputs of '(model)'"
STEP = "RuntimeError: SGD.step() must not be called: step(closure) of the speculation takes it"
UNIT = "ValueError: speculation needs a device with the unit 'difference', which device preset 'tin"

#: What each worker's last words are; one text for both, where they are the same.
ERRORS = {
    "unused": UNUSED,
    "unused_on_one": (FAILED + UNUSED, UNUSED),
    "closure_fails_on_one": (FAILED + MISSING, MISSING),
    "backward_fails_on_one": (FAILED + MISSING, MISSING),
    "verdict_fails_on_one": (FAILED + MISSING, MISSING),
    "settling_fails_on_one": (FAILED + MISSING, MISSING),
    "another_batch_on_one": (FAILED + BATCH, BATCH),
    "another_step_on_one": (FAILED + STEP, STEP),
    "another_step_in_a_closure_on_one": (FAILED + STEP, STEP),
    "another_step_before_the_first_on_one": (FAILED + STEP, STEP),
    "weights_differ": "DisagreementError: the workers' weights must be equal after 4 steps, b",
    "gone": ("WorkerLostError: a worker was lost in the", ""),
    "tau_differs": (
        "ValueError: tau must be the same on all workers, but worker 0 has 0.1 and worker 1 has 0.2"
    ),
    "rates_differ": "ValueError: lr of group 0 of SGD must be the same on all workers, but work",
    "not_a_number": "ValueError: tau must be a number from 0 on, not nan",
    "no_difference_on_one": (FAILED + UNIT, UNIT),
}


@pytest.mark.parametrize("case", ERRORS)
def test_what_does_not_fit_is_named_on_all_workers(case: str, server: WorkerServer) -> None:
    wanted = ERRORS[case]
    both = (wanted, wanted) if isinstance(wanted, str) else wanted
    for worker, words in zip(server.run(WORKER, case), both, strict=True):
        assert worker.returncode in (1, 3)  # and was not killed because it took too long
        assert words in worker.error, worker.stderr[-3000:]
