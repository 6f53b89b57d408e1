"""Telegram: `adapter` takes messages in, `surface` shows replies."""
