"""Arithmetic that units share: floating point, divider, multipliers, leading zeros."""
