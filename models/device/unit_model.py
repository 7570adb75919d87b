"""What the golden models of all units' handlers have in common."""

from collections.abc import Callable, Mapping

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status

from .data_port import DataPort

__all__ = ["Refusal", "UnitModel", "require"]


class Refusal(Exception):  # noqa: N818 - it is an answer, not an accident
    """A request gets a status other than OK, and nothing else."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status


def require(condition: bool, status: Status) -> None:
    """Refuse the request unless the condition holds."""
    if not condition:
        raise Refusal(status)


class UnitModel:
    """Golden model of a unit with its handler of requests.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    port : DataPort
        Where tensors come in.

    Attributes
    ----------
    operations : mapping of int to callable
        By opcode: takes the bytes of a request whose length fits its operation, and gives those of
        the reply.
    """

    operations: Mapping[int, Callable[[bytes], bytes]]

    def __init__(self, configuration: Configuration, port: DataPort) -> None:
        self.configuration = configuration
        self.port = port

    def registers(self) -> dict[str, int]:
        """Its registers that are neither constant nor count clock cycles, by name."""
        return {}

    def hello(self) -> None:
        """A session was opened."""
