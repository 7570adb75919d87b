"""Watch over optimizers: nobody looks at them while an update is in flight, or steps himself."""

from collections.abc import Sequence
from typing import Any

import torch

from .runtime import Runtime

__all__ = ["Watch"]


class Watch:
    """Settles before optimizers show their state or take another, and refuses steps of others.

    Parameters
    ----------
    optimizers : sequence of torch.optim.Optimizer
        The optimizers of the model.
    runtime : Runtime
        What settles, and tells the other workers.
    """

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer], runtime: Runtime) -> None:
        self._own = optimizers
        self._runtime = runtime
        self._handles: list[Any] = [
            *(own.register_state_dict_pre_hook(lambda _: runtime.settle()) for own in optimizers),
            *(
                own.register_load_state_dict_pre_hook(lambda *_: runtime.settle())
                for own in optimizers
            ),
            *(own.register_step_pre_hook(self._refuse) for own in optimizers),
        ]

    def close(self) -> None:
        """Let go of the optimizers."""
        for handle in self._handles:
            handle.remove()

    def _refuse(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if any(optimizer is own for own in self._own):
            self._runtime.refuse(
                f"{type(optimizer).__name__}.step() must not be called: step(closure) of the "
                "speculation takes it"
            )
