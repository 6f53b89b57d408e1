"""Run any tool from a shell, without a bot."""
