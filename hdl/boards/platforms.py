"""The boards' Amaranth platforms: the one thing about boards that needs the extra ``synth``."""

from collections.abc import Callable

from amaranth.build import Platform
from amaranth_boards.icebreaker import ICEBreakerPlatform
from amaranth_boards.tang_nano_9k import TangNano9kPlatform
from amaranth_boards.ulx3s import ULX3S_25F_Platform, ULX3S_85F_Platform

__all__ = ["PLATFORMS"]


class _IceBreaker(ICEBreakerPlatform):
    """With the LEDs of the part that may be broken off."""

    def __init__(self) -> None:
        super().__init__()
        self.add_resources(self.break_off_pmod)


class _TangNano9k(TangNano9kPlatform):
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


#: By the board's name.
PLATFORMS: dict[str, Callable[[], Platform]] = {
    "ulx3s": ULX3S_85F_Platform,
    "ulx3s-granular": ULX3S_85F_Platform,
    "ulx3s-whole": ULX3S_85F_Platform,
    "ulx3s-25f": ULX3S_25F_Platform,
    "icebreaker": _IceBreaker,
    "tang-nano-9k": _TangNano9k,
}
