"""The app that `manifest.yaml` describes, as a link. Imports no part of Slack's library."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import quote

MANIFEST: Final = Path(__file__).with_name("manifest.yaml")


def new_app_link() -> str:
    """Return the address at which Slack opens *Create New App*, filled in with the manifest.

    https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests
    """
    import yaml

    manifest = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    written = yaml.safe_dump(manifest, sort_keys=False, width=1_000)
    return f"https://api.slack.com/apps?new_app=1&manifest_yaml={quote(written, safe='')}"
