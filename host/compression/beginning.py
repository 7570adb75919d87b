"""Part of a compressed exchange's pass that has begun together."""

from collections.abc import Callable
from dataclasses import dataclass

from adagrain.host.distributed.exchange import Pending

from .passage import Passage

__all__ = ["Beginning"]


@dataclass
class Beginning:
    """A beginning's part of the pass, and the exchange of its shares of no region; as `Pending`.

    Parameters
    ----------
    finish : callable
        Waits for a pass, which goes on its way if it has not.
    passage : Passage
        The pass.
    alone : Pending or None
        The exchange of shares of no region, if there are some.
    """

    finish: Callable[[Passage], None]
    passage: Passage
    alone: Pending | None

    def arrived(self) -> bool:
        """As :meth:`Pending.arrived`."""
        return self.passage.arrived() and (self.alone is None or self.alone.arrived())

    def wait(self) -> None:
        """As :meth:`Pending.wait`."""
        self.finish(self.passage)
        if self.alone is not None:
            self.alone.wait()
