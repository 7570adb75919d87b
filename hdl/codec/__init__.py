"""Masked gradients to coded blocks, and back."""
