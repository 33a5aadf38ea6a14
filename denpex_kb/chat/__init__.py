"""A conversation on top of the pipeline: what was told, what it leaves open, and the question that tells most."""
