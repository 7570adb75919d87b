"""Short names for large things: hashes of weights and of a network's shape."""

import hashlib

import torch.distributed as dist
from torch import nn

from adagrain.host.distributed.lockstep import DisagreementError

__all__ = ["check_weights", "network_sha256", "weights_sha256"]


def weights_sha256(network: nn.Module) -> str:
    """SHA-256 over names, types, shapes and bytes of all parameters and buffers, by name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def network_sha256(network: nn.Module) -> str:
    """SHA-256 over names, types and shapes alone: equal for networks that can swap weights."""
    rows = sorted(
        f"{name} {tensor.dtype} {tuple(tensor.shape)}"
        for name, tensor in network.state_dict().items()
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def check_weights(network: nn.Module) -> None:
    """Compare the workers' weights; every worker calls it.

    Raises
    ------
    DisagreementError
        If a worker has others than the first one; on all of them.
    """
    digest = hashlib.sha256()
    for name, parameter in network.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    found = [""] * dist.get_world_size()
    dist.all_gather_object(found, digest.hexdigest())
    others = [rank for rank, hashed in enumerate(found) if hashed != found[0]]
    if others:
        raise DisagreementError(
            f"all workers must have the same weights, but those of worker "
            f"{', '.join(map(str, others))} differ from worker 0's"
        )
