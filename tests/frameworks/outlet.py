"""Parley in front of Parley: the adapter for AG-UI asks the bot's own server."""

from __future__ import annotations

import os

from parley_chat.agents.ag_ui import AGUIAgent


class Front(AGUIAgent):
    def __init__(self) -> None:
        token, port = os.environ["WEB_TOKEN"], os.environ["WEB_PORT"]
        super().__init__(f"http://127.0.0.1:{port}/agui", headers={"Authorization": f"Bearer {token}"})
