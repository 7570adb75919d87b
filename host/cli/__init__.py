"""Subcommands of ``adagrain``, one file each."""
