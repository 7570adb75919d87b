"""Answers with a status other than OK."""

from adagrain.models.interface.protocol import Status

__all__ = ["Refusal", "require"]


class Refusal(Exception):  # noqa: N818 - it is an answer, not an accident
    """A request gets a status other than OK, and nothing else."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status


def require(condition: bool, status: Status) -> None:
    """Refuse the request unless the condition holds."""
    if not condition:
        raise Refusal(status)
