"""Slack on loopback: Web API, Socket Mode and signed posts, with the service's own limits and refusals."""

from playground.slack.api import Call
from playground.slack.delivery import Delivery
from playground.slack.limits import Limits
from playground.slack.oauth import SlackService
from playground.slack.server import SlackServer
from playground.slack.workspace import Ping, Preview

__all__ = ["Call", "Delivery", "Limits", "Ping", "Preview", "SlackServer", "SlackService"]
