"""Short names for large things: hashes of weights and of a network's shape."""

import hashlib

from torch import nn

__all__ = ["network_sha256", "weights_sha256"]


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
