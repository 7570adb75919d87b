"""The virtual board behind a faulty cable: every command counts once, and training goes on."""

import os
from collections.abc import Iterator

import pytest
from builds import TINY

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.region_manager.table import default_parameters, region_record
from adagrain.sim.simulators import runner
from adagrain.sim.virtual_board import VirtualBoard
from adagrain.sim.virtual_board.fault_proxy import FaultProxy, Mishap
from adagrain.sim.virtual_board.faulty_line import Fault

pytestmark = pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)


#: Chance of each fault, alone and all together: at each byte, each frame, or each chunk.
CHANCES: dict[str, dict[Fault | Mishap, float]] = {
    **{fault.name: {fault: 0.001} for fault in (Fault.DROP, Fault.FLIP, Fault.DOUBLE)},
    Fault.GARBAGE.name: {Fault.GARBAGE: 0.0005},
    **{fault.name: {fault: 0.05} for fault in (Fault.LOSE, Fault.REPEAT, Fault.TRUNCATE)},
    Fault.SWAP.name: {Fault.SWAP: 0.05},
    Mishap.DELAY.name: {Mishap.DELAY: 0.05},
    Mishap.DISCONNECT.name: {Mishap.DISCONNECT: 0.02},
    Mishap.RESET.name: {Mishap.RESET: 0.02},
    "all": {
        **dict.fromkeys((Fault.DROP, Fault.FLIP, Fault.DOUBLE, Fault.GARBAGE), 0.0002),
        **dict.fromkeys((Fault.LOSE, Fault.REPEAT, Fault.TRUNCATE, Fault.SWAP), 0.01),
        **dict.fromkeys(Mishap, 0.01),
    },
}

FULL = os.environ.get("ADAGRAIN_FULL") == "1"
COMMANDS = 2_000 if FULL else 100
SEEDS = range(5) if FULL else range(1)


@pytest.fixture(scope="module")
def board() -> Iterator[VirtualBoard]:
    with VirtualBoard(TINY) as board:
        yield board


def command(device: Coprocessor, number: int) -> None:
    """Changes a record by what it finds there, so that a repeat or a loss would show."""
    device.update_regions([{"region": 0, "exponent": 130, "usable": 1, "a": number, "n": 1}])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", CHANCES)
def test_commands_are_executed_once_each(board: VirtualBoard, kind: str, seed: int) -> None:
    chances = CHANCES[kind]
    with FaultProxy(board.port, chances, seed, reset=board.send_break) as proxy:
        url = f"serial:{proxy.port}"
        with adagrain.open_device(url, TINY, timeout=0.5, retries=40) as device:
            device.configure_regions([region_record()], default_parameters(2))
            before = device.counters()
            for number in range(1, COMMANDS + 1):
                command(device, number)
            counted = device.counters()
            assert device.read_table(0, 1) == device.state_dict()["table"]
        assert all(proxy.happened[fault] for fault in chances if COMMANDS * chances[fault] >= 5)
    if Mishap.RESET in chances:
        assert counted["restored"] > 0
    else:
        executed = (counted["decisions"] - before["decisions"]) & 0xFFFF_FFFF
        assert (executed, counted["restored"]) == (COMMANDS, 0)
