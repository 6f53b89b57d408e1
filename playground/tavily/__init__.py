"""A Tavily server with a few canned pages: strict about what it is asked, honest about where nothing was found."""

from playground.tavily.pages import PAGES, CannedPage
from playground.tavily.server import SearchRequest, TavilyServer

__all__ = ["PAGES", "CannedPage", "SearchRequest", "TavilyServer"]
