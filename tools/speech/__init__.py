"""Transcribe recordings on this machine."""
