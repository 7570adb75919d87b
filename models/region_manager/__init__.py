"""Golden model of the Region Manager."""
