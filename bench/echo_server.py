"""The least MCP server there is: `echo`, and `wait` for 50 ms, both eras refused but the older ones. Plain Python."""

import os
import sys
import threading
import time

import orjson

LOCK = threading.Lock()
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": name, "inputSchema": SCHEMA} for name in ("echo", "wait")]


def answer(number: object, result: object) -> None:
    with LOCK:
        os.write(1, orjson.dumps({"jsonrpc": "2.0", "id": number, "result": result}) + b"\n")


def wait(number: object, content: object) -> None:
    time.sleep(0.05)
    answer(number, content)


def main() -> None:
    if len(sys.argv) > 1:
        with open(sys.argv[1], "a") as pids:
            pids.write(f"{os.getpid()}\n")
    for line in sys.stdin.buffer:
        message = orjson.loads(line)
        number, method, params = message.get("id"), message["method"], message.get("params", {})
        if number is None:
            continue
        if method == "initialize":
            information = {"name": "echo", "version": "1"}
            answer(number, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": information})
        elif method == "tools/list":
            answer(number, {"tools": TOOLS})
        elif method == "tools/call":
            content = {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
            if params["name"] == "wait":
                threading.Thread(target=wait, args=(number, content)).start()
            else:
                answer(number, content)
        else:
            error = {"code": -32601, "message": "Method not found"}
            with LOCK:
                os.write(1, orjson.dumps({"jsonrpc": "2.0", "id": number, "error": error}) + b"\n")


if __name__ == "__main__":
    main()
