#!/usr/bin/env -S python3 -S -E
"""The MCP server of the recorded homes: two tools, nothing but the standard library."""

import json
import os
import sys
from typing import Any

TOOLS = [
    {
        "name": "double",
        "description": "Doubles a number.",
        "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
        "outputSchema": {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]},
    },
    {
        "name": "note",
        "description": "Appends a word to the file `effects`, unless there is a file `closed`.",
        "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
]


def call(name: Any, arguments: Any) -> Any:
    if name == "double":
        value = {"value": 2 * arguments["number"]}
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
    if os.path.exists("closed"):
        return {"content": [{"type": "text", "text": "the gate is closed"}], "isError": True}
    with open("effects", "a") as file:
        file.write(arguments["word"] + "\n")
    return {"content": [{"type": "text", "text": "noted"}]}


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        about = {"name": "recorded", "version": "1"}
        version = params["protocolVersion"]
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif method == "tools/call":
        answer["result"] = call(params["name"], params.get("arguments") or {})
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
