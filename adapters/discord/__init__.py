"""Discord: `adapter` receives messages, `surface` shows replies."""
