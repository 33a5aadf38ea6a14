"""From what the user gave to the diagnosis: the readers, relations, matcher and advice in a row."""
