"""For which FPGA a component is elaborated."""

from dataclasses import dataclass

from amaranth.vendor import LatticePlatform, SiliconBluePlatform

__all__ = ["Target", "family_of"]


@dataclass(frozen=True)
class Target:
    """Stands for a platform where a component is synthesised without a board.

    Parameters
    ----------
    family : str
        FPGA family, as boards name it.
    """

    family: str


def family_of(platform: object) -> str | None:
    """The family of a platform or target whose multipliers are instantiated; ``None``: of no such.

    Of the iCE40 only the UltraPlus has multipliers.
    """
    match platform:
        case Target(family=family):
            return family
        case LatticePlatform() if platform.device.startswith("LFE5"):
            return "ecp5"
        case SiliconBluePlatform() if platform.device.startswith("iCE40UP"):
            return "ice40"
    return None
