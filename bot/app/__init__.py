"""The running program: every part is built once and joined with the others. The one room that looks everywhere."""

from __future__ import annotations

from bot.app.app import App
