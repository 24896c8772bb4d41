"""The least MCP server there is: `echo`, and `wait` for 50 ms. Plain Python, one thread, the older protocols."""

import collections
import os
import select
import sys
import time

import orjson

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": name, "inputSchema": SCHEMA} for name in ("echo", "wait")]
WAIT = 0.05


def answer(number: object, **outcome: object) -> None:
    os.write(1, orjson.dumps({"jsonrpc": "2.0", "id": number, **outcome}) + b"\n")


def handle(line: bytes, waiting: collections.deque[tuple[float, object, object]]) -> None:
    message = orjson.loads(line)
    number, method, params = message.get("id"), message["method"], message.get("params", {})
    if number is None:
        return
    if method == "initialize":
        about = {"name": "echo", "version": "1"}
        answer(number, result={"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": about})
    elif method == "tools/list":
        answer(number, result={"tools": TOOLS})
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
        if params["name"] == "wait":
            waiting.append((time.monotonic() + WAIT, number, result))
        else:
            answer(number, result=result)
    else:
        answer(number, error={"code": -32601, "message": "Method not found"})


def main() -> None:
    if len(sys.argv) > 1:
        with open(sys.argv[1], "a") as pids:
            pids.write(f"{os.getpid()}\n")
    waiting: collections.deque[tuple[float, object, object]] = collections.deque()
    rest = b""
    while True:
        if waiting:
            pause = max(0.0, waiting[0][0] - time.monotonic())
            readable = bool(select.select([0], [], [], pause)[0])
        else:
            readable = True
        if readable:
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                handle(line, waiting)
        while waiting and waiting[0][0] <= time.monotonic():
            _, number, result = waiting.popleft()
            answer(number, result=result)


if __name__ == "__main__":
    main()
