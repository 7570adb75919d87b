"""Workers compare their weights after a checkpoint was loaded."""

from pathlib import Path

from process_groups import WorkerServer

#: Worker 1 has one weight that is one bit off, if that is asked for.
WORKER = """
import sys
import torch
import torch.distributed as dist
from torch import nn
from adagrain.host.train.fingerprint import check_weights

dist.init_process_group("gloo")
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
if dist.get_rank() == 1:
    network[1].running_mean.add_(1)  # which is each worker's own until the next step
    network[0].bias.data.view(torch.int32)[1] ^= int(sys.argv[1])
check_weights(network)
dist.barrier()
"""


def test_the_same_weights_pass(server: WorkerServer) -> None:
    assert [worker.returncode for worker in server.run(Path("same"), "0", source=WORKER)] == [0, 0]


def test_one_bit_is_noticed_by_all(server: WorkerServer) -> None:
    for worker in server.run(Path("other"), "1", source=WORKER, count=3):
        assert worker.returncode == 1
        assert worker.error.endswith(
            "DisagreementError: all workers must have the same weights, "
            "but those of worker 1 differ from worker 0's"
        ), worker.error
