"""The echo node."""

import asyncio

from pflow.nodes.echo import Echo


def test_what_goes_in_comes_out() -> None:
    node = Echo()
    node.set_params({"text": "hi", "items": [1, {"a": None}], "__mcp_server__": "x"})
    shared: dict[str, object] = {}
    assert asyncio.run(node.run_async(shared)) == "default"
    assert shared == {"text": "hi", "items": [1, {"a": None}]}
