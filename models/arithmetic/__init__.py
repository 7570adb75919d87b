"""Golden models of arithmetic that units share."""
