"""Mutants that nobody thought of: one small change each, anywhere in hdl, models and host."""
