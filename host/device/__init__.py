"""The driver: a device's units, whatever is behind its url."""
