"""Fetch URLs that a model or a stranger names: which may be opened, how, and what is read from them."""
