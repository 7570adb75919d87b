"""The host's end of the link: a session over a transport."""
