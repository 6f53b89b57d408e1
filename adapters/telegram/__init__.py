"""Telegram: `adapter` receives messages, `surface` shows replies."""
