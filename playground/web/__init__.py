"""Public services of the web on loopback, with canned answers: papers, weather, an encyclopaedia, token prices."""

from playground.web.dexscreener import DexscreenerServer
from playground.web.mediawiki import MediaWikiServer
from playground.web.openalex import OpenAlexServer
from playground.web.openmeteo import OpenMeteoServer
from playground.web.service import PublicService, Question

__all__ = [
    "DexscreenerServer",
    "MediaWikiServer",
    "OpenAlexServer",
    "OpenMeteoServer",
    "PublicService",
    "Question",
]
