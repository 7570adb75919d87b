"""The boards that the coprocessor is built for, by name."""

from .board import Board
from .icebreaker import ICEBREAKER
from .tang_nano_9k import TANG_NANO_9K
from .ulx3s import ULX3S_25F, ULX3S_85F, ULX3S_85F_GRANULAR, ULX3S_85F_WHOLE

__all__ = ["BOARDS", "Board"]

BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        *(ULX3S_85F, ULX3S_85F_GRANULAR, ULX3S_85F_WHOLE, ULX3S_25F),
        *(ICEBREAKER, TANG_NANO_9K),
    )
}
