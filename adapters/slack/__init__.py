"""Slack: `adapter` receives messages, `surface` shows replies."""
