"""Regions: named slices of a model's parameters."""
