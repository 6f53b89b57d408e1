"""Discord: `adapter` takes messages in, `surface` shows replies."""
