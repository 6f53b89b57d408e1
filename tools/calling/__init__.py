"""A call by name → a result: a function becomes a tool, its arguments are checked, and the registry runs it."""
