"""Use of a serial line by the link, in clock cycles on the virtual board."""

from dataclasses import dataclass

import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import encode_frame
from adagrain.sim.virtual_board.faulty_line import Fault, FaultyLine

from .session import Request, Session
from .transport.stepped import SteppedTransport

__all__ = ["CleanRates", "clean_rates", "upload_rate"]

#: Simulated seconds until the driver repeats itself, and how often it does.
_TIMEOUT, _RETRIES = 1.0, 100


@dataclass(frozen=True)
class CleanRates:
    """Shares of the line's rate, 1 being a byte of payload in the time of a byte.

    Parameters
    ----------
    upload : float
        Payload of a pass over a tensor, to the device.
    echo : float
        Payload of ECHO commands, in each direction at the same time.
    round_trip : float
        Time of a command that reads one register, as a multiple of the time that the bytes of
        request and reply take on the line.
    """

    upload: float
    echo: float
    round_trip: float


def clean_rates(configuration: Configuration, *, elements: int, echoes: int) -> CleanRates:
    """Rate of the link on a line without faults.

    Parameters
    ----------
    configuration : Configuration
        What the board is built with.
    elements : int
        Size of the tensor, in FP32 numbers.
    echoes : int
        Commands with the longest payload.
    """
    transport = SteppedTransport(configuration)
    with _opened(transport, configuration) as device:
        upload = _upload(device, transport, elements)
        session = Session(
            transport,
            window=configuration.window,
            payload=configuration.payload,
            timeout=_TIMEOUT,
            retries=_RETRIES,
        )
        session.open()
        payload = bytes(index % 256 for index in range(configuration.payload))
        taken = _cycles(transport, session, [Request(SystemOpcode.ECHO, payload)] * echoes)
        ideal = echoes * len(payload) * transport.CYCLES_PER_BYTE
        request = Request(SystemOpcode.REGISTERS, bytes([0, 1]))
        on_the_line = sum(
            len(encode_frame(1 << 24, 1, request.opcode, payload))
            for payload in (request.payload, bytes(4))
        )
        trip = _cycles(transport, session, [request])
        return CleanRates(upload, ideal / taken, trip / (on_the_line * transport.CYCLES_PER_BYTE))


def upload_rate(
    configuration: Configuration, *, elements: int, error_rate: float, seed: int
) -> float:
    """Share of the line's rate that a pass's payload gets where bytes are damaged both ways.

    Parameters
    ----------
    configuration : Configuration
        What the board is built with.
    elements : int
        Size of the tensor, in FP32 numbers.
    error_rate : float
        Chance that a bit of a byte flips.
    seed : int
        Of the errors.
    """
    lines = [FaultyLine({Fault.FLIP: error_rate}, seed=number) for number in (seed, ~seed)]
    transport = SteppedTransport(configuration, there=lines[0], back=lines[1])
    with _opened(transport, configuration) as device:
        return _upload(device, transport, elements)


def _opened(transport: SteppedTransport, configuration: Configuration) -> Coprocessor:
    return Coprocessor(transport, configuration, url="virtual:", timeout=_TIMEOUT, retries=_RETRIES)


def _upload(device: Coprocessor, transport: SteppedTransport, elements: int) -> float:
    tensor = torch.randn(elements, generator=torch.Generator().manual_seed(0))
    before = transport.cycles
    device.statistics(tensor, exponent=3)
    ideal = tensor.nbytes * transport.CYCLES_PER_BYTE
    return ideal / (transport.cycles - before)


def _cycles(transport: SteppedTransport, session: Session, requests: list[Request]) -> int:
    before = transport.cycles
    session.call(requests)
    return transport.cycles - before
