"""Opening addresses that a model or a stranger names: what may be opened, how, and what is read out of it."""
