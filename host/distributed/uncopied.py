"""State that belongs to one model in one process, and does not go along where that is copied."""

from collections.abc import Callable

__all__ = ["Uncopied"]


class Uncopied:
    """Base of states in a model's hooks: in a copy, or in a file, ``None`` stands for it.

    So a model that is wrapped in DistributedDataParallel can be copied and saved with a hook as
    without one: as PyTorch has it, the copy averages its gradients without any.
    """

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _nothing, ()


def _nothing() -> None:
    return None
