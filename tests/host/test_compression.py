"""The compressed exchange behind DDP, with real workers on gloo."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compression_bypass_cases as bypass_cases
import compression_hook_cases as hook_cases
import compression_learned_cases as learned_cases
import compression_passes_cases as passes_cases
import compression_reducer_cases as reducer_cases
import compression_refusal_cases as refusal_cases
import compression_settings_cases as settings_cases
import compression_thrown_away_cases as thrown_away_cases
import pytest
from compression_setup import CASES
from process_groups import WorkerServer

WORKER = Path(__file__).parent / "compression_worker.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "compressed.py"
Run = Callable[..., Any]

#: Whose cases are run, all of them; and those that have tests of their own.
RUN = {
    own.__name__
    for own in (
        *(bypass_cases, hook_cases, learned_cases),
        *(passes_cases, reducer_cases, refusal_cases, settings_cases),
        thrown_away_cases,
    )
}
BY_THEMSELVES = {
    "three_workers",
    "resumed_uncompressed",
    "budget",
    "no_backward_on_one_uncompressed",
}


@pytest.fixture(scope="module")
def run(server: WorkerServer) -> Run:
    """What a case gives, the same on all workers."""

    def ended(name: str, count: int = 2) -> Any:
        workers = server.run(WORKER, name, count=count)
        for worker in workers:
            assert worker.returncode == 0, worker.stderr[-3000:]
        first, *others = (json.loads(w.stdout.splitlines()[-1])[name] for w in workers)
        assert all(other == first for other in others)
        return first

    return ended


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, function in CASES.items()
        if function.__module__ in RUN and name not in BY_THEMSELVES
    ],
)
def test_compressed_exchange(name: str, run: Run) -> None:
    run(name)


def test_sums_are_in_rank_order(run: Run) -> None:
    run("three_workers", count=3)


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.full)])
def test_a_run_without_compression_is_resumed_bit_for_bit(count: int, run: Run) -> None:
    run("resumed_uncompressed", count=count)


def test_a_budget_is_kept(run: Run) -> None:
    for sent in run("budget"):
        assert 250 < sent < 450  # slots, and what the workers agree on


def test_the_example(server: WorkerServer) -> None:
    first, second = server.run(EXAMPLE, "--steps", "60")
    assert first.returncode == second.returncode == 0, first.stderr[-3000:]
    found = re.search(r"accuracy (.*)%, (.*)% of the bytes; Counts.overflows=0", first.stdout)
    assert found and float(found[1]) > 80 and float(found[2]) < 10, first.stdout


def test_the_example_takes_a_step(server: WorkerServer) -> None:
    for worker in server.run(EXAMPLE, "--steps", "0"):
        assert worker.returncode == 2
        assert worker.stderr.endswith("error: --steps must be at least 1, not 0\n")


#: Last words of each worker; one text for both, where they are the same.
ERRORS = {
    "options_that_differ": (
        "ValueError: density must be the same on all workers, but worker 0 has 0.2 and worker 1"
    ),
    "compression_that_differs": (
        "ValueError: density of compression must be the same on all workers, but worker 0 has 0.2"
    ),
    "compression_on_one": (
        "ValueError: compression must be the same on all workers, but worker 0 has 'on' and"
    ),
    "no_compression": "TypeError: compression must be a mapping from options, or None, not 0.01",
    "wrong_option_of_compression": (
        "TypeError: compression has no option 'densty'; did you mean 'density'?"
    ),
    "no_backward_on_one": (
        "WorkerFailedError: worker 1 failed: RuntimeError: a step of SGD must follow a backward pa",
        "RuntimeError: a step of SGD must follow a backward pass that exchanges gradients, but the",
    ),
    "no_backward_on_one_uncompressed": (
        "WorkerFailedError: worker 1 failed: RuntimeError: a step of SGD must follow a backward pa",
        "RuntimeError: a step of SGD must follow a backward pass that exchanges gradients, but the",
    ),
    "state_that_the_mask_refuses": "ValueError: the mask refuses the state",
    "state_behind_a_failed_pass": (
        "RuntimeError: state must be taken before an exchange fails: what this one has sent is lost"
    ),
    "state_through_torch_checkpoint": (
        "torch.distributed.checkpoint restores only those that a new state has, and residuals"
    ),
    "buckets_that_are_skipped": (
        "TypeError: DistributedDataParallel(skip_all_reduce_unused_params=True) does not work with"
    ),
    "registered_with_buckets_that_are_skipped": (
        "TypeError: DistributedDataParallel(skip_all_reduce_unused_params=True) does not work with"
    ),
    "state_of_a_dense_exchange": (
        "ValueError: state must be of a CompressedExchange, not of a DenseExchange"
    ),
    "state_of_another_mask_behind_the_reducer": (
        "ValueError: mask of the state must be Top, not RandomK"
    ),
    "wrong_option_on_one": (
        "ValueError: density must be a number above 0 and at most 1, not 2.0",
        "WorkerFailedError: worker 0 failed: ValueError: density must be a number above 0 and at",
    ),
    "wrong_mask_on_one": (
        "WorkerFailedError: worker 1 failed: TypeError: keep of a mask must give bools of shape",
        "TypeError: keep of a mask must give bools of shape (1064,), not torch.float32 of shape",
    ),
    "coder_that_stops_to_encode_on_one": (
        "WorkerFailedError: worker 1 failed: DeviceError: the device has stopped to encode",
        "DeviceError: the device has stopped to encode",
    ),
    "coder_that_stops_to_decode_on_one": (
        "WorkerFailedError: worker 1 failed: DeviceError: the device has stopped to decode",
        "DeviceError: the device has stopped to decode",
    ),
    "coder_whose_frames_are_too_long_on_one": (
        "WorkerFailedError: worker 1 failed: ValueError: frame of 0 elements that are not zero mu",
        "ValueError: frame of 0 elements that are not zero must have from 1 to ",
    ),
    "coder_whose_frames_are_empty_on_one": (
        "WorkerFailedError: worker 1 failed: ValueError: frame of ",
        " elements that are not zero must have from 1 to 112 bytes, not 0",
    ),
    "mask_that_cannot_end_a_pass_on_one": (
        "WorkerFailedError: worker 1 failed: ValueError: the mask cannot end the pass",
        "ValueError: the mask cannot end the pass",
    ),
    "mask_that_cannot_end_the_last_pass_on_one": (
        "WorkerFailedError: worker 1 failed: ValueError: the mask cannot end the pass",
        "ValueError: the mask cannot end the pass",
    ),
    "mask_that_cannot_sample_on_one": (
        "WorkerFailedError: worker 1 failed: ValueError: the mask cannot sample",
        "ValueError: the mask cannot sample",
    ),
    "mask_that_cannot_sample_on_one_uncompressed": (
        "WorkerLostError: a worker was lost in the ",  # exchange, or the probe: which is a race
        "ValueError: the mask cannot sample",
    ),
    "network_that_stops_on_one": (
        "WorkerFailedError: worker 1 failed: DeviceError: the device has stopped to keep_tables",
        "DeviceError: the device has stopped to keep_tables",
    ),
    "state_without_a_part": (
        "ValueError: state must be what state_dict() has given, with kind, passes, counts, feedback"
    ),
    "coder_with_frames_of_its_own": (
        "ValueError: coder must make the golden codec's frames, and <compression_misuse_cases.Wrong"
    ),
    "coder_with_a_mask_of_its_own": (
        "ValueError: coder must mask as the golden mask does, and <compression_misuse_cases.Unma"
    ),
    "budget_that_no_frame_fits_in": (
        "ValueError: budget must be at least 112 bytes, which a frame with one element of each of "
        "6 parameters, or slices of them, may take, not 111"
    ),
    "budget_of_slices": (
        "ValueError: budget must be at least 206 bytes, which a frame with one element of each of "
    ),
    "momentum_twice": (
        "ValueError: momentum of SGD must be 0 where compression has momentum, 0.9, not 0.5"
    ),
    "momentum_twice_behind_the_hook": (
        "ValueError: momentum of SGD must be 0 where compression has momentum, 0.5, not 0.9"
    ),
    "no_hook": (
        "RuntimeError: gradients must go through compress_hook, but none has: call "
        "model.register_comm_hook(state, compress_hook), and the wrapped model"
    ),
    "no_coder": (
        "ValueError: coder must be one of golden, device, or an opened device, not 'gloden'"
    ),
    "coder_without_a_device": (
        "ValueError: coder must be 'golden', or an opened device, where no device is registered, "
        "not 'device'"
    ),
    "coder_that_cannot_code": (
        "ValueError: encode needs a build with an encoder, which device preset 'tiny' has not"
    ),
    "network_of_a_coder_that_is_no_device": (
        "ValueError: network must be 'golden' where coder is no device, but <compression_misuse_ca"
    ),
    "network_of_a_device_without_slices": (
        "ValueError: chain needs a build with a granularity unit: device preset 'small' has no sl"
    ),
    "network_that_decides_otherwise": (
        "ValueError: network must decide as the golden one, and that on <compression_misuse_cases"
    ),
    "network_without_its_mask": (
        "ValueError: network must be 'golden' unless mask is 'learned' and coder a device, not "
        "'device' with mask 'threshold' and coder <compression_misuse_cases.Otherwise"
    ),
    "network_that_is_none": "ValueError: network must be one of golden, device, not 'golden:'",
    "other_state": "ValueError: parameters of the state must be ['0.weight', ",
    "state_in_another_memory_format": (
        "ValueError: parameter '0.weight' of the state must have {'shape': (4, 2, 3, 3), "
        "'strides': (18, 9, 3, 1)}, not {'shape': (4, 2, 3, 3), 'strides': (18, 1, 6, 2)}"
    ),
    "state_of_another_mask": "ValueError: mask of the state must be HardThreshold, not Top",
    "states_of_other_passes": (
        "ValueError: backward passes of the state must be the same on all workers, but worker 0 "
        "has 4 and worker 1 has 10"
    ),
    "state_on_one": (
        "ValueError: backward passes of the state must be the same on all workers, but worker 0 "
        "has 0 and worker 1 has 10"
    ),
    "states_of_other_slots": (
        "ValueError: sizes of slots of the state, by checksum, must be the same on all workers, but"
    ),
    "no_state": "TypeError: state of compress_hook must be a CompressionState, not None",
    "states_of_other_choices": (
        "ValueError: mask of the state must be 'top', not 'top_by_share' after 2 passes; "
        "momentum correction of the state must be True, not False after 2 passes; "
        "error_feedback of the state must be False, not True after 2 passes; "
        "hidden of the learned mask of the state must be 5, not 31 after 2 passes"
    ),
    "wrong_option_of_the_mask_on_one": (
        "ValueError: hidden must be a whole number, at least 1, not 0",
        "WorkerFailedError: worker 0 failed: ValueError: hidden must be a whole number, at least 1",
    ),
    "options_of_the_mask_that_differ": (
        "ValueError: learned must be the same on all workers, but worker 0 has {'reconstruction'"
    ),
    "frozen_when_the_state_was_made": (
        "ValueError: parameters of a bucket must be those that were trainable when the state was "
        "made, but one of shape (40"
    ),
    "join": "NotImplementedError: DistributedDataParallel.join does not work with compress_hook",
    "double_precision": (
        "TypeError: dtype of parameter 'weight' must be one of torch.float32, torch.bfloat16, "
        "torch.float16, not torch.float64"
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_told_to_all_workers(name: str, server: WorkerServer) -> None:
    told = ERRORS[name]
    for worker, text in zip(
        server.run(WORKER, name), (told, told) if isinstance(told, str) else told, strict=True
    ):
        assert worker.returncode == 1
        assert text in worker.error
