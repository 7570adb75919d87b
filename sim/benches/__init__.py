"""The benches of units, a folder each."""
