"""Programs and tasks that end together with everything they started, and their output."""
