"""Files of JSON lines, as a run's ``metrics.jsonl``."""

import json
import os
from pathlib import Path
from typing import Any, TextIO

__all__ = ["append_json_lines", "read_json_lines"]


def append_json_lines(path: Path) -> TextIO:
    """A file to append lines to, opened; a last line without an end is ended, or removed if cut.

    Raises
    ------
    ValueError
        If the file ends in something else than a line of JSON, or the beginning of one.
    """
    end = ""
    if path.is_file():
        first, content = _end_of(path)
        whole = content.rfind(b"\n") + 1
        rest = content[whole:]
        last = content[:whole].splitlines()[-1:]
        begins = not rest.strip(b"\0") or rest.startswith(b"{")
        if not (begins and all(map(_is_object, last))):
            shown = (rest if not begins else last[0])[:40].decode(errors="replace")
            raise ValueError(f"{path} must end in a JSON object to be appended to, not {shown!r}")
        if _is_object(rest):
            end = "\n"
        else:
            os.truncate(path, first + whole)
    file = path.open("a", buffering=1)  # a line is whole, whatever ends the process
    file.write(end)
    return file


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a file, one a line; a last line that was cut short is left out.

    A full disk, or a process that was killed, leaves such a line.

    Raises
    ------
    ValueError
        If another line is no JSON object; its number is named.
    """
    rows = path.read_text(errors="replace").splitlines()
    objects = []
    for number, row in enumerate(rows, 1):
        try:
            parsed = json.loads(row)
        except json.JSONDecodeError:
            parsed = None
        if isinstance(parsed, dict):
            objects.append(parsed)
        elif number < len(rows):
            raise ValueError(f"line {number} of {path} must be a JSON object, not {row[:40]!r}")
    return objects


def _end_of(path: Path) -> tuple[int, bytes]:
    """A place in a file at or in front of its last whole line, and all from there on."""
    size, length = path.stat().st_size, 1 << 16
    with path.open("rb") as file:
        while True:
            first = max(0, size - length)
            file.seek(first)
            content = file.read()
            if first == 0 or content.count(b"\n") > 1:
                return first, content
            length *= 2


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
