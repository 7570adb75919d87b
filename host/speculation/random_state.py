"""States of the random number generators that everything draws from."""

import random
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

__all__ = ["RandomState"]


@dataclass(frozen=True)
class RandomState:
    """States of the generators of torch (on the CPU), Python and NumPy, at one time.

    It does not know generators that somebody has made for himself.
    """

    tensors: torch.Tensor
    python: Any
    arrays: Any

    @classmethod
    def now(cls) -> Self:
        """The states as they are."""
        return cls(torch.get_rng_state(), random.getstate(), np.random.get_state())

    def restore(self) -> None:
        """Go back to them."""
        torch.set_rng_state(self.tensors)
        random.setstate(self.python)
        np.random.set_state(self.arrays)

    @property
    def only_torch_since(self) -> bool:
        """True if numbers were drawn from torch's generator alone since then, or none at all."""
        _, words, *place = np.random.get_state()
        return (
            random.getstate() == self.python
            and place == [*self.arrays[2:]]
            and np.array_equal(words, self.arrays[1])
        )
