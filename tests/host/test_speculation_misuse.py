"""Speculation that goes wrong: named on all workers, without a deadlock."""

from pathlib import Path

import pytest
from process_groups import WorkerServer

WORKER = Path(__file__).parent / "speculation_misuse_worker.py"

FAILED = "WorkerFailedError: worker 1 failed: "
UNUSED = "RuntimeError: parameter 'b.weight' must get a gradient in every backward pass, but got no"
MISSING = "KeyError: 'no such thing'"
BATCH = "DifferentInputsError: a closure must do the same when it is run again, but the inputs of"
STEP = "RuntimeError: SGD.step() must not be called: step(closure) of the speculation takes it"
MASK = "TypeError: keep of a mask must give bools of shape"
CODER = "ValueError: encode needs a build with an encoder, which device preset 'full' has not"
LEARNED = "ValueError: mask must not learn from activations where steps may be computed twice, so"
ENCODE, DECODE = (f"DeviceError: the device has stopped to {part}" for part in ("encode", "decode"))
UNIT = "ValueError: speculation needs a device with the unit 'difference', which device preset 'tin"
MEMORY = "ValueError: depth must be one that memory can hold, but 2 updates in flight take 1280 "
TAU = "ValueError: tau must be a number from 0 on, not -0.5"
BUCKETS = "ValueError: bucket_bytes must be left out with compression whose bypass is 'never', whe"
LACKING = "ValueError: parameter 'a.weight' must be in one region, but is in none"
STRANGER = "ValueError: region 'c' must have trainable parameters of the model, but 'c.weight' is"
OPTIMIZER = "TypeError: optimizer must be one of torch.optim, or several, not None"
EXPANDED = "ValueError: buffer 'own' must have memory for each of its elements, but is expanded t"
DOUBLE = "TypeError: parameter 'a.weight' must be of type torch.float32, torch.float16, torch.bfloa"

#: What each worker's last words are; one text for both, where they are the same.
ERRORS = {
    "unused": UNUSED,
    "unused_on_one": (FAILED + UNUSED, UNUSED),
    "closure_fails_on_one": (FAILED + MISSING, MISSING),
    "backward_fails_on_one": (FAILED + MISSING, MISSING),
    "verdict_fails_on_one": (FAILED + MISSING, MISSING),
    "settling_fails_on_one": (FAILED + MISSING, MISSING),
    "third_step_fails_on_one": (FAILED + MISSING, MISSING),
    "fourth_step_fails_on_one": (FAILED + MISSING, MISSING),
    "settling_fails_on_one_when_buckets_are_chosen": (FAILED + MISSING, MISSING),
    "buckets_differ": "DisagreementError: the workers' buckets must be equal after 0 steps, but",
    "closure_fails_two_deep_on_one": (FAILED + MISSING, MISSING),
    "settling_fails_two_deep_on_one": (FAILED + MISSING, MISSING),
    "memory_is_short_on_one": (FAILED + MEMORY, MEMORY),
    "weights_differ_two_deep": "DisagreementError: the workers' weights must be equal after 6 step",
    "one_settles_and_the_other_does_not": "ValueError: all is well",
    "statistics_fail_on_one": (FAILED + MISSING, MISSING),
    "mask_fails_on_one": (FAILED + MASK, MASK),
    "encoding_fails_on_one": (FAILED + ENCODE, ENCODE),
    "encoding_fails_three_deep_on_one": (FAILED + ENCODE, ENCODE),
    "decoding_fails_three_deep_on_one": (FAILED + DECODE, DECODE),
    "closure_fails_three_deep_on_one_with_frames": (FAILED + MISSING, MISSING),
    "gone_three_deep_with_frames": ("WorkerLostError: a worker was lost in the", ""),
    "decoding_fails_on_one": (FAILED + DECODE, DECODE),
    "decoding_fails_on_one_that_settles": (FAILED + DECODE, DECODE),
    "closure_fails_on_one_with_frames": (FAILED + MISSING, MISSING),
    "gone_with_frames": ("WorkerLostError: a worker was lost in the", ""),
    "compression_on_one": "ValueError: compression must be the same on all workers, but worker 0 h",
    "density_differs": "ValueError: density of compression must be the same on all workers, but wo",
    "coder_is_none_on_one": (FAILED + CODER, CODER),
    "learned_mask": LEARNED,
    "another_batch_on_one": (FAILED + BATCH, BATCH),
    "another_batch_on_one_that_keeps_no_outputs": (FAILED + BATCH, BATCH),
    "another_batch_beside_a_number_on_one": (FAILED + BATCH, BATCH),
    "another_batch_of_the_second_closure_on_one": (FAILED + BATCH, BATCH),
    "another_batch_of_the_second_closure_two_deep_on_one": (FAILED + BATCH, BATCH),
    "another_step_on_one": (FAILED + STEP, STEP),
    "another_step_in_a_closure_on_one": (FAILED + STEP, STEP),
    "another_step_before_the_first_on_one": (FAILED + STEP, STEP),
    "weights_differ": "DisagreementError: the workers' weights must be equal after 4 steps, b",
    "gone": ("WorkerLostError: a worker was lost in the", ""),
    "tau_differs": (
        "ValueError: tau must be the same on all workers, but worker 0 has 0.1 and worker 1 has 0.2"
    ),
    "cadences_differ": "ValueError: cadences must be the same on all workers, but worker 0 has",
    "rates_differ": "ValueError: lr of group 0 of SGD must be the same on all workers, but work",
    "not_a_number": "ValueError: tau must be a number from 0 on, not nan",
    "tau_is_negative_on_one": (FAILED + TAU, TAU),
    "buckets_of_frames_on_one": (FAILED + BUCKETS, BUCKETS),
    "region_is_lacking_on_one": (FAILED + LACKING, LACKING),
    "region_of_another_model_on_one": (FAILED + STRANGER, STRANGER),
    "regions_in_another_order_on_one": (
        "ValueError: region 0 must be the same on all workers, but worker 0 has ('a', 20)"
    ),
    "no_optimizer_on_one": (FAILED + OPTIMIZER, OPTIMIZER),
    "expanded_buffer_on_one": (FAILED + EXPANDED, EXPANDED),
    "every_other_column_is_a_buffer": "ValueError: all is well",
    "double_precision_on_one": (FAILED + DOUBLE, DOUBLE),
    "no_difference_on_one": (FAILED + UNIT, UNIT),
}


@pytest.mark.parametrize("case", ERRORS)
def test_what_does_not_fit_is_named_on_all_workers(case: str, server: WorkerServer) -> None:
    wanted = ERRORS[case]
    both = (wanted, wanted) if isinstance(wanted, str) else wanted
    for worker, words in zip(server.run(WORKER, case), both, strict=True):
        assert worker.returncode in (1, 3)  # and was not killed because it took too long
        assert words in worker.error, worker.stderr[-3000:]
