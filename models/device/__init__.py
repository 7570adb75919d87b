"""Golden model of the whole device: link, commands and units."""
