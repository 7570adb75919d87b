"""Distributed training: the reducer, its stages, and its front-ends."""
