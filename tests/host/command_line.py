"""The command line, in this process."""

from typer.testing import CliRunner

from adagrain.host.cli.app import app

__all__ = ["call"]


def call(*arguments: str) -> tuple[int, str]:
    """Exit status and everything that was printed, line breaks taken out."""
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.split())
