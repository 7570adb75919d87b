"""Telemetry of a training: typed events, and sinks that they go to."""
