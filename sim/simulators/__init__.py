"""Simulators: how they are found, built and run, and what benches on them are made of."""
