"""The nouns of Denpex: frozen, typed, free of I/O."""
