"""Training that goes wrong: named on all workers, at once."""

import time
from pathlib import Path

import pytest
from process_groups import WorkerServer

WORKER = Path(__file__).parent / "misuse_worker.py"

#: Seconds that workers may take to find out.
SOON = 15

UNREGISTERED = "Adam must be registered to step on parameter '0.weight': register(model, [opti"
NOTHING_FAILED = "state must be taken where no backward pass and no step has failed, but one has"
NO_PASS = (
    "a step of SGD must follow a backward pass that exchanges gradients, but there was none since"
)
NOT_EXCHANGED = (
    "a step of SGD must follow a backward pass that exchanges gradients, but the last one was "
    "inside model.no_sync(), or a second one through the same forward pass"
)
THROWN_AWAY = "optimizer.step() must follow a backward pass before its gradients are changed or thr"
ONE_MODEL = "must step for one registered model, but is registered with another already; give each"
OPTIMIZER = "optimizer must be one of torch.optim, or several, not "
FAILED = "WorkerFailedError: worker 1 failed: "

#: What each worker's last words are; one text for both, where they are the same.
ERRORS = {
    "another_optimizer": f"RuntimeError: {UNREGISTERED}",
    "another_optimizer_on_one": (
        f"{FAILED}RuntimeError: {UNREGISTERED}",
        f"RuntimeError: {UNREGISTERED}",
    ),
    "no_optimizer_on_one": (
        f"{FAILED}TypeError: {OPTIMIZER}None",
        f"TypeError: {OPTIMIZER}None",
    ),
    "parameters_for_an_optimizer": f"TypeError: {OPTIMIZER}[Parameter",
    "no_backward": f"RuntimeError: {NO_PASS}",
    "no_backward_on_one": (f"{FAILED}RuntimeError: {NO_PASS}", f"RuntimeError: {NO_PASS}"),
    "no_backward_behind_a_forward": (f"{FAILED}RuntimeError: {NO_PASS}", NO_PASS),
    "no_backward_behind_buffers": (f"{FAILED}RuntimeError: {NO_PASS}", NO_PASS),
    "no_backward_at_first": ("WorkerLostError: a worker was lost in the", NO_PASS),
    "only_no_sync": f"RuntimeError: {NO_PASS}",
    "no_sync_at_the_end": f"RuntimeError: {NOT_EXCHANGED}",
    "two_losses_of_one_forward": f"RuntimeError: {NOT_EXCHANGED}",
    "thrown_away_at_1": f"RuntimeError: {THROWN_AWAY}",
    "thrown_away_at_4": f"RuntimeError: {THROWN_AWAY}",
    "zeroed_at_1": f"RuntimeError: {THROWN_AWAY}",
    "zeroed_at_4": f"RuntimeError: {THROWN_AWAY}",
    "thrown_away_views": f"RuntimeError: {THROWN_AWAY}",
    "missed_step": (
        "DisagreementError: the workers must take the same steps (was one optimizer.step() "
        "missed?), but worker 0 has 2 steps and 0 backward passes since and worker 1 has 1 steps "
        "and 1 backward passes since"
    ),
    "missed_pass": (
        "DisagreementError: the workers must take the same steps (was one optimizer.step() "
        "missed?), but worker 0 has 1 steps and 1 backward passes since and worker 1 has 2 steps "
        "and 0 backward passes since"
    ),
    "another_optimizer_with_buffers": (
        f"{FAILED}RuntimeError: {UNREGISTERED}",
        f"RuntimeError: {UNREGISTERED}",
    ),
    "weights_differ": (
        "DisagreementError: the workers' weights must be equal after 4 steps, but worker 0 has chec"
    ),
    "update_by_hand": (
        "RuntimeError: weights must be updated by optimizer.step() of the registered optimizer, "
        "but they were changed after the last backward pass without it"
    ),
    "decisions_differ": "DisagreementError: the workers' decisions must be equal after 3 steps, b",
    "statistics_fail_on_one": (f"{FAILED}KeyError: 'no such thing'", "KeyError: 'no such thing'"),
    "average_fails_on_one": (f"{FAILED}KeyError: 'no such thing'", "KeyError: 'no such thing'"),
    "sink_fails_on_one": (
        f"{FAILED}OSError: [Errno 28] No space left on device",
        "OSError: [Errno 28] No space left on device",
    ),
    "log_fails_on_one": (
        f"{FAILED}OSError: [Errno 28] No space left on device",
        "OSError: [Errno 28] No space left on device",
    ),
    "cadence_max_differs": (
        "ValueError: cadence_max must be the same on all workers, but worker 0 has 4 and worker 1 "
        "has 8"
    ),
    "regions_differ": (
        "ValueError: number of regions must be the same on all workers, but worker 0 has 2 and "
        "worker 1 has 4"
    ),
    "epochs_differ": "ValueError: epoch_steps must be the same on all workers, but worker 0 has 16",
    "policies_differ": "ValueError: policy must be the same on all workers, but worker 0 has <Spe",
    "presets_differ": "ValueError: preset of the device must be the same on all workers, but work",
    "rates_differ": (
        "ValueError: lr of group 0 of SGD must be the same on all workers, but worker 0 has 0.1 "
        "and worker 1 has 0.2"
    ),
    "rates_in_tensors_differ": (
        "ValueError: lr of group 0 of SGD must be the same on all workers, but worker 0 has 0.5 "
        "and worker 1 has 0.25"
    ),
    "rates_of_the_first_optimizer_differ": (
        "ValueError: lr of group 0 of SGD 0 must be the same on all workers, but worker 0 has 0.1 "
        "and worker 1 has 0.2"
    ),
    "no_device_on_one": (f"{FAILED}", "/dev/nothing"),
    "first_step_of_a_resumed_run_on_one": (
        f"{FAILED}OSError: disk is full",
        "OSError: disk is full",
    ),
    "unknown_option": "TypeError: register has no option 'cadense'; did you mean 'cadence'?",
    "one_of_two_optimizers": (
        "RuntimeError: every registered optimizer must step after a backward pass, but optimizer 1 "
        "(SGD) did not"
    ),
    "grad_scaler": "TypeError: adagrain does not work with GradScaler: accumulated gradients woul",
    "closure_twice": "TypeError: an optimizer must evaluate its closure once per step, not twice",
    "closure_unused": "TypeError: Never must evaluate the closure, but did not",
    "closed": "RuntimeError: the model must not be trained on after close() of its adagrain state",
    "hook_left_out": f"RuntimeError: {NO_PASS}",
    "registered_twice": f"ValueError: SGD {ONE_MODEL}",
    "one_optimizer_of_two_models": f"ValueError: SGD {ONE_MODEL}",
    "states_exchanged": (
        "ValueError: state must be of worker 0, not of worker 1: each saves and loads its own",
        "ValueError: state must be of worker 1, not of worker 0: each saves and loads its own",
    ),
    "ignored_by_ddp": (
        "TypeError: trainable parameters that DistributedDataParallel ignores do not work with "
        "adagrain: the gradient of '1.weight' is not exchanged; freeze it"
    ),
    "no_device": "TypeError: device must be a url or a Coprocessor, not None",
    "cap_not_a_number": "ValueError: cap must be a positive number, not nan",
    "sinks_as_a_text": "TypeError: sinks must be a list or a tuple of sinks, not 'events.jsonl'",
    "sink_of_another_kind": "TypeError: sinks must have statistics() and step(), not 'events",
    "region_without_a_name": "TypeError: by must give the name of a region for '0.weight', not",
    "loss_of_many": "ValueError: loss must have one element, not 6",
    "loss_without_a_tensor": "TypeError: loss must be a tensor, not 3.0",
    "state_in_mid_step": "RuntimeError: state must be taken after optimizer.step(), not between t",
    "state_between_two_optimizers": (
        "RuntimeError: state must be taken after the steps of all optimizers, but optimizer 1 (SGD)"
    ),
    "state_behind_a_failed_pass": f"RuntimeError: {NOTHING_FAILED}",
    "state_behind_a_failed_sink": f"RuntimeError: {NOTHING_FAILED}",
    "state_behind_a_failed_step": (
        "RuntimeError: state must be taken after whole steps, but one of Exhausted has failed: go"
    ),
    "state_without_accumulators": "ValueError: state must be what state_dict() has given, with ",
    "state_of_other_accumulators": "ValueError: accumulators of the state must be of [(20,), (10,",
    "state_of_other_groups": (
        "ValueError: groups of optimizer 0 of the state must have [4] parameters, not [1, 1]"
    ),
    "sparse": "TypeError: gradients must be dense, but one of an embedding is sparse",
    "thawed_later": (
        "RuntimeError: parameter '0.weight' must be trainable when the model is wrapped, for its "
        "gradients to be exchanged, but was frozen"
    ),
    "added_later": (
        "RuntimeError: parameter '2.weight' must be there when the model is wrapped, for its "
        "gradients to be exchanged, but was added later"
    ),
    "double_precision": "TypeError: dtype must be",
}


@pytest.mark.parametrize("case", ERRORS)
def test_what_does_not_fit_is_named_on_all_workers(case: str, server: WorkerServer) -> None:
    wanted = ERRORS[case]
    both = (wanted, wanted) if isinstance(wanted, str) else wanted
    began = time.monotonic()
    ended = server.run(WORKER, case)
    assert time.monotonic() - began < SOON
    for worker, words in zip(ended, both, strict=True):
        assert worker.returncode == 1
        assert words in worker.error, worker.stderr[-3000:]


#: Worker 1 fails with a sum under way, which worker 0 begins late, and only then learns why.
LATE = """
import time, torch, torch.distributed as dist
from adagrain.host.distributed.all_reduce import AllReduce
from adagrain.host.distributed.lockstep import Lockstep

dist.init_process_group("gloo")
lockstep = Lockstep(dist.group.WORLD)
lockstep.post(dict)
if dist.get_rank() == 1:
    AllReduce(torch.ones(8), None)
    lockstep.check(dict)
    lockstep.tell(KeyError("no such thing"))
lockstep.check(dict)
lockstep.post(dict)
time.sleep(1.5)
AllReduce(torch.ones(8), None).wait()
lockstep.check(dict)
"""


def test_a_worker_that_fails_stays_until_the_others_know(server: WorkerServer) -> None:
    late, failed = server.run(WORKER, source=LATE)
    assert f"{FAILED}KeyError: 'no such thing'" in late.error, late.stderr[-3000:]
    assert "KeyError: 'no such thing'" in failed.error, failed.stderr[-3000:]
