"""Devices that compute in this process, and may be asked without frames."""

from adagrain.host.link.session import Session
from adagrain.host.link.transport.base import DirectTransport

__all__ = ["direct_of"]


def direct_of(session: Session) -> DirectTransport | None:
    """The transport of a session, where it may be asked so."""
    transport = session.transport
    if isinstance(transport, DirectTransport) and transport.direct:
        return transport
    return None
