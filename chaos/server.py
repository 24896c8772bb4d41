"""The least MCP server with an effect: `note` and `look` append a line to a file. Plain Python, one thread, stdio."""

import json
import os
import sys
import time

PAUSE = 0.06
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("file", "token", "step")},
    "required": ["file", "token", "step"],
}
TOOLS = [{"name": name, "description": "Append a line.", "inputSchema": SCHEMA} for name in ("note", "look")]


def note(words: dict[str, str]) -> dict[str, object]:
    line = f"{time.time():.3f} {words['token']} {words['step']}\n"
    file = os.open(words["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, line.encode())
    os.close(file)
    time.sleep(PAUSE)
    return {"content": [{"type": "text", "text": "noted"}]}


def answer(message: dict[str, object]) -> dict[str, object]:
    params = message.get("params")
    match message["method"]:
        case "initialize":
            about = {"name": "notes", "version": "1"}
            return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}}
        case "tools/list":
            return {"result": {"tools": TOOLS}}
        case "tools/call" if isinstance(params, dict):
            return {"result": note(params["arguments"])}
        case "ping":
            return {"result": {}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
