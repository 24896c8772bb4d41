"""A small MCP server that follows a script: `scripted.py SCRIPT.json`. It needs nothing but the standard library.

The script says which `tools` it lists (or, in `lists`, which it lists each time), and by tool which `replies` its
calls get, one after the other and the last for all that follow; calls are counted over all processes by the log.
"""

import json
import os
import signal
import sys
import time
from typing import Any

PATH = sys.argv[1]
with open(PATH) as file:
    SCRIPT = json.load(file)
MODERN = SCRIPT.get("era") == "modern"
LISTED = 0
MET = MODERN
SUBSCRIPTION = None


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def reply(number: int, result: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": {"resultType": "complete", **result} if MODERN else result})


def refuse(number: int, code: int, message: str, data: dict[str, Any] | None = None) -> None:
    send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message, "data": data}})


def note(kind: str, text: str) -> None:
    """Write down what a test asks for later; one write, so that lines of several processes do not mix."""
    with open(f"{PATH}.{kind}", "a") as file:
        file.write(text + "\n")


def calls_of(tool: str) -> int:
    with open(f"{PATH}.log") as file:
        messages = [json.loads(line) for line in file]
    return sum(m.get("method") == "tools/call" and m["params"]["name"] == tool for m in messages)


def hang() -> None:
    while True:
        signal.pause()


def wait_for(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.002)


def leave(code: int, said: str) -> None:
    sys.stderr.write(said)
    sys.stderr.flush()
    os._exit(code)


def tools() -> list[Any]:
    global LISTED
    lists = SCRIPT.get("lists")
    LISTED += 1
    listed: list[Any] = lists[min(LISTED, len(lists)) - 1] if lists else SCRIPT["tools"]
    return listed


def tell_of_change() -> None:
    """Say that the tools changed: unasked in the older protocols, in the newer one only to who listens."""
    if not MODERN:
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    elif SUBSCRIPTION is not None:
        meta = {"io.modelcontextprotocol/subscriptionId": SUBSCRIPTION}
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}})


def call(number: int, params: dict[str, Any]) -> None:
    name, arguments = params["name"], params.get("arguments") or {}
    replies = SCRIPT.get("replies", {}).get(name, [{"echo": True}])
    answer = replies[min(calls_of(name), len(replies)) - 1]
    if "touch" in answer:
        open(answer["touch"], "w").close()
    if "wait_for" in answer:
        wait_for(answer["wait_for"])
    if answer.get("changed"):
        tell_of_change()
    if "stderr" in answer:
        sys.stderr.write(answer["stderr"])
        sys.stderr.flush()
    if "raw" in answer:
        sys.stdout.write(answer["raw"].replace("ID", str(number)) + "\n")
        sys.stdout.flush()
        answer = answer.get("then") or {"silent": True}
    if answer.get("silent"):
        return
    if answer.get("hang"):
        hang()
    elif "exit" in answer:
        os._exit(answer["exit"])
    elif "refuse" in answer:
        refuse(number, *answer["refuse"])
    elif answer.get("env"):
        reply(number, {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]})
    elif "result" in answer:
        reply(number, answer["result"])
    elif "text" in answer:
        reply(number, {"content": [{"type": "text", "text": answer["text"]}]})
    elif "failed" in answer:
        reply(number, {"content": [{"type": "text", "text": answer["failed"]}], "isError": True})
    else:
        reply(number, {"content": [{"type": "text", "text": json.dumps(arguments)}]})


def handle(message: dict[str, Any]) -> None:
    global MET, SUBSCRIPTION
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    note("log", json.dumps(message))
    if number is None:
        return
    if method == SCRIPT.get("hang"):
        hang()
    if method == SCRIPT.get("exit"):
        leave(3, SCRIPT.get("stderr", ""))
    about = {
        "capabilities": {"tools": {"listChanged": "lists" in SCRIPT}},
        "serverInfo": {"name": "scripted", "version": SCRIPT.get("version", "1.0")},
        **({"instructions": SCRIPT["instructions"]} if "instructions" in SCRIPT else {}),
    }
    if method == "server/discover" and MODERN:
        reply(number, {"supportedVersions": [SCRIPT.get("protocol", "2026-07-28")], **about})
    elif method == "initialize" and not MODERN:
        MET = True
        reply(number, {"protocolVersion": SCRIPT.get("protocol", "2025-11-25"), **about})
    elif not MET:
        refuse(number, -32602, "Received request before initialization was complete")
    elif method == "tools/list":
        reply(number, {"tools": tools()})
    elif method == "tools/call":
        call(number, params)
    elif method == "subscriptions/listen" and MODERN and "lists" in SCRIPT:
        SUBSCRIPTION = number
        meta = {"io.modelcontextprotocol/subscriptionId": number}
        wanted = {"notifications": params["notifications"], "_meta": meta}
        send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": wanted})
    else:
        refuse(number, -32601, "Method not found")


note("pids", str(os.getpid()))
if SCRIPT.get("writes"):
    open(SCRIPT["writes"], "w").close()
if SCRIPT.get("waits_for"):
    wait_for(SCRIPT["waits_for"])
if SCRIPT.get("exit") == "start":
    leave(3, SCRIPT.get("stderr", ""))
if SCRIPT.get("hang") == "start":
    hang()
for line in sys.stdin:
    handle(json.loads(line))
