"""The hostile server again, and its demand that nothing is left behind."""

from tests.mcp.protocol.conftest import kit

__all__ = ["kit"]
