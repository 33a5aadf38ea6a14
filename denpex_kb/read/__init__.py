"""One module per kind of input: what the user has → facts and events."""
