"""What the subcommands of ``adagrain`` do, one file each."""
