"""Components that handlers of requests are made of."""
