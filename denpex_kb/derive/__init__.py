"""Facts and events → derived facts, relations, attempts, who began it."""
