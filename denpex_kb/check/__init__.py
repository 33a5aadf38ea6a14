"""The preflight: a set-up on disk → the failures of the catalog that it will run into."""
