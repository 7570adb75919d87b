"""Devices that compute in this process, and may be asked without frames."""

from typing import cast

from adagrain.host.link.session import Session
from adagrain.host.link.transport.base import DirectTransport

__all__ = ["direct_of"]


def direct_of(session: Session) -> DirectTransport | None:
    """The transport of a session, where it may be asked so."""
    transport = session.transport
    return cast(DirectTransport, transport) if getattr(transport, "direct", False) else None
