"""Amaranth gateware: one component per file."""
