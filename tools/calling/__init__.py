"""A call by name → a result: turns functions into tools, checks arguments, and runs calls in the registry."""
