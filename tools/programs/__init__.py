"""Programs and tasks that end together with what they started, and what they print."""
