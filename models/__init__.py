"""Bit-exact golden models, number formats and the layouts that both sides share."""
