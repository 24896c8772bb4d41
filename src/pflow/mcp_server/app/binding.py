"""Which page is shown beside the answers of a tool, as its definition says."""

from __future__ import annotations

URI = "ui://pflow/run.html"
EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
STATE = "pflow/view"
"""The name under which an answer carries what the page shows, where no model reads it."""

BOUND = {"ui": {"resourceUri": URI, "visibility": ["model", "app"]}}
"""The `_meta` of a tool whose answers the page shows."""

ABOUT = {"ui": {"prefersBorder": True}}
"""The `_meta` of the page. It has no `csp`: it loads nothing, and asks for everything through the host."""
