"""The three wires by name."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.adapters.model import chat, messages, responses
from pflow.adapters.model.message import Wire

WIRES: Mapping[str, Wire] = {"chat": chat.WIRE, "responses": responses.WIRE, "messages": messages.WIRE}
