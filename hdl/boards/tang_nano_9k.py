"""Tang Nano 9K."""

from amaranth_boards.tang_nano_9k import TangNano9kPlatform

from .board import Board

__all__ = ["TANG_NANO_9K"]


class _Platform(TangNano9kPlatform):
    """With the program that places and routes for Gowin now; Amaranth calls its forerunner."""

    required_tools = ("yosys", "nextpnr-himbaechel", "gowin_pack")

    @property
    def command_templates(self) -> list[str]:
        synthesise, _, pack = super().command_templates
        place = r"""
        {{invoke_tool("nextpnr-himbaechel")}}
            {{quiet("--quiet")}}
            {{get_override("nextpnr_opts")|options}}
            --log {{name}}.tim
            --device {{platform.part}}
            --vopt family={{platform._chipdb_device}}
            --vopt cst={{name}}.cst
            --json {{name}}.syn.json
            --write {{name}}.pnr.json
        """
        return [synthesise, place, pack]


TANG_NANO_9K = Board(
    name="tang-nano-9k",
    title="Tang Nano 9K",
    family="gowin",
    preset="tiny",
    clock=27e6,
    baud=1e6,
    capacity={"LUT": 8640, "FF": 6480, "DSP": 20, "block RAM": 26},
    platform=_Platform,
    clocking=None,
    lights=(("led", 0), ("led", 1), ("led", 2)),
    programmer="tangnano9k",
)
