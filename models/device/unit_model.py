"""Base of the golden models of units' handlers."""

from collections.abc import Callable, Mapping

from adagrain.models.interface.configuration import Configuration

from .tensor_input import TensorInputModel

__all__ = ["UnitModel"]


class UnitModel:
    """Golden model of a unit with its handler of requests.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    tensor_input : TensorInputModel
        Where tensors come in.

    Attributes
    ----------
    operations : mapping of int to callable
        By opcode: takes the bytes of a request whose length fits its operation, and gives those of
        the reply.
    """

    operations: Mapping[int, Callable[[bytes], bytes]]

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        self.configuration = configuration
        self.tensor_input = tensor_input

    def registers(self) -> dict[str, int]:
        """Its registers that are neither constant nor count clock cycles, by name."""
        return {}

    def take_results(self) -> list[int]:
        """32-bit words that it has sent out of the data port since this was last asked."""
        return []

    def hello(self) -> None:
        """A session was opened."""
