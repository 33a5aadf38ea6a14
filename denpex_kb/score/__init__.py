"""What stands on the pipeline and measures it: a labelled corpus, the samples of entries."""
