"""Fetch URLs that a model or a stranger names: which can be opened, how, and what is read from them."""
