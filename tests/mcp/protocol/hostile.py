"""A small MCP server that misbehaves as told: `hostile.py ERA BEHAVIOUR`. It needs nothing but the standard library.

ERA is `modern` (stateless, 2026-07-28), `legacy` (handshake) or a legacy version. A behaviour is a name such as
`garbage`, or `STAGE:WHAT` with STAGE one of start, discover, initialize, list, call, eof.
"""

import json
import os
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import Any

ERA, BEHAVIOUR = sys.argv[1], sys.argv[2]
STAGE, _, WHAT = BEHAVIOUR.rpartition(":")
MODERN = ERA == "modern"
VERSION = "2025-11-25" if ERA in ("modern", "legacy") else ERA
STAGES = {
    "server/discover": "discover",
    "initialize": "initialize",
    "tools/list": "list",
    "tools/call": "call",
}
OUT = sys.stdout.buffer


def raw(data: bytes) -> None:
    OUT.write(data)
    OUT.flush()


def send(message: Any) -> None:
    raw(json.dumps(message).encode() + b"\n")


def note(pid: int) -> None:
    """Write a process number down where the test finds it."""
    if "PIDS" in os.environ:
        with open(os.environ["PIDS"], "a") as file:
            file.write(f"{pid}\n")


def reply(number: int, **result: Any) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": finished(result)})


def finished(result: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", **result} if MODERN else result


def refuse(number: int, code: int, message: str, **more: Any) -> None:
    send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message, **more}})


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def hang() -> None:
    while True:
        signal.pause()


def do(what: str, number: Any) -> bool:
    """Misbehave at a stage; whether the stage is over with that."""
    if what == "silence":
        return True
    if what == "hang":
        hang()
    if what.startswith("exit"):
        sys.stderr.write("about to fail\nlast words\n")
        sys.stderr.flush()
        os._exit(int(what[4:] or 0))
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "close-output":
        os.close(1)
        hang()
    if what == "half-then-exit":
        raw(b'{"jsonrpc":"2.0","id":%d,"resu' % number)
        os._exit(0)
    if what == "answer-then-exit":
        reply(number, **text("bye"))
        os._exit(0)
    if what == "malformed":
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{oops}}\n' % number)
        return True
    if what == "error":
        refuse(number, -32000, "no luck today")
        return True
    if what == "not-found":
        refuse(number, -32601, "nope")
        return True
    if what == "bad-params":
        refuse(number, -32602, "nope")
        return True
    return False


def tools(params: dict[str, Any]) -> dict[str, Any]:
    """The result of `tools/list`."""
    tool = {"name": "echo", "inputSchema": {"type": "object"}}
    page = int(params.get("cursor") or 0)
    if BEHAVIOUR == "no-tools":
        return {"tools": []}
    if BEHAVIOUR == "many-tools":
        return {"tools": [{**tool, "name": f"tool-{n}", "description": "x" * 200} for n in range(5000)]}
    if BEHAVIOUR == "pages":
        more = {"nextCursor": str(page + 1)} if page < 9 else {}
        return {"tools": [{**tool, "name": f"tool-{page}"}], **more}
    if BEHAVIOUR == "endless-pages":
        return {"tools": [tool], "nextCursor": str(page + 1)}
    if BEHAVIOUR == "same-page":
        return {"tools": [tool], "nextCursor": "1"}
    if BEHAVIOUR == "bad-cursor":
        return {"tools": [tool], "nextCursor": {"a": 1}}
    if BEHAVIOUR == "tools-no-list":
        return {"tools": "echo"}
    if BEHAVIOUR == "tool-no-name":
        return {"tools": [tool, {"title": "x"}]}
    return {"tools": [tool]}


HELD: list[dict[str, Any]] = []


def call(number: int, params: dict[str, Any]) -> None:
    """Answer `tools/call`, or make a mess of it."""
    arguments = params.get("arguments") or {}
    token = params.get("_meta", {}).get("progressToken")
    good: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "result": finished(text(str(arguments.get("text", ""))))}
    encoded = json.dumps(good).encode()

    def progress(**values: Any) -> None:
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": values})

    match BEHAVIOUR:
        case "garbage":
            for position in range(1000):
                raw(b"starting up... %d\n" % position)
            raw(b'\x1b[31mred\x1b[0m\n[1, 2\n{}\n123\nnull\n"text"\n')
            raw(encoded + b"\n")
        case "blank-lines":
            raw(b"\n\n  \n\r\n\t\n" + encoded + b"\n\n")
        case "crlf":
            raw(encoded + b"\r\n")
        case "one-byte-writes":
            for position in range(len(encoded)):
                raw(encoded[position : position + 1])
            raw(b"\n")
        case "two-in-one-write":
            raw(b'{"jsonrpc":"2.0","method":"x"}\n' + encoded + b"\n")
        case "no-newline-then-exit":
            raw(encoded)
            os._exit(0)
        case "endless-line":
            try:
                while True:
                    raw(b"x" * 65536)
            except BrokenPipeError:
                os._exit(1)
        case "line-64mb":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":"' % number)
            try:
                for _ in range(1024):
                    raw(b"x" * 65536)
                raw(b'"}}\n')
            except BrokenPipeError:
                os._exit(1)
        case "line-4mb":
            good["result"]["content"][0]["text"] = "x" * (4 << 20)
            send(good)
        case "deep":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":%s}}\n' % (number, b"[" * 100000 + b"]" * 100000))
        case "many-values":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":[%s1]}}\n' % (number, b"1," * 3500000))
        case "many-objects":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":[%s1]}}\n' % (number, b"{}," * 300000))
        case "deep-600":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":%s}}\n' % (number, b"[" * 600 + b"]" * 600))
        case "deep-id-last":
            raw(b'{"result":{"a":%s},"id":%d,"jsonrpc":"2.0"}\n' % (b"[" * 2000 + b"]" * 2000, number))
        case "long-number":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":%s}}\n' % (number, b"9" * 10000))
        case "infinite-number":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":1e999}}\n' % number)
        case "nan":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":NaN}}\n' % number)
        case "lone-surrogate":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\\ud800"}}\n' % number)
        case "invalid-utf8":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\xff\xfe"}}\n' % number)
        case "utf16":
            raw(json.dumps(good).encode("utf-16") + b"\n")
            raw(encoded + b"\n")
        case "bom":
            raw(b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","method":"x"}\n' + encoded + b"\n")
        case "nul":
            raw(b"\0\0\0\n" + encoded + b"\n")
        case "unknown-id":
            send({**good, "id": 4711})
            send(good)
        case "string-id":
            send({**good, "id": str(number)})
            send(good)
        case "null-id":
            send({**good, "id": None})
            send(good)
        case "float-id":
            send({**good, "id": float(number)})
            send(good)
        case "huge-id":
            send({**good, "id": 10**30})
            send(good)
        case "only-string-id":
            send({**good, "id": str(number)})
        case "duplicate":
            send(good)
            send({**good, "result": finished(text("second"))})
        case "answers-next-first":
            send({**good, "id": number + 1})
            send(good)
        case "batch":
            send([{"jsonrpc": "2.0", "method": "x"}, 7, good])
        case "no-jsonrpc":
            send({"id": number, "result": good["result"]})
        case "wrong-case":
            send({"jsonrpc": "2.0", "id": number, "Result": good["result"]})
        case "result-and-error":
            send({**good, "error": {"code": 1, "message": "x"}})
        case "no-result":
            send({"jsonrpc": "2.0", "id": number})
        case "result-list":
            send({"jsonrpc": "2.0", "id": number, "result": [1]})
        case "error-text":
            send({"jsonrpc": "2.0", "id": number, "error": "bad"})
        case "error-empty":
            send({"jsonrpc": "2.0", "id": number, "error": {}})
        case "error-odd":
            send({"jsonrpc": "2.0", "id": number, "error": {"code": "x", "message": "\x1b[2Jboo", "data": [1]}})
        case "error-huge":
            refuse(number, -32603, "x" * 10**6, data={"y": ["z" * 100] * 10**4})
        case "extra-keys":
            send({**good, "extra": 1, "x": None})
        case "is-error":
            good["result"]["isError"] = True
            send(good)
        case "result-kind":
            good["result"]["resultType"] = "later"
            send(good)
        case "progress":
            for step in range(1, 6):
                progress(progressToken=token, progress=step, total=5, message=f"step {step}")
            send(good)
        case "slow-with-progress":
            for step in range(8):
                progress(progressToken=token, progress=step)
                time.sleep(0.1)
            send(good)
        case "endless-progress":
            for step in range(10**6):
                progress(progressToken=token, progress=step)
                time.sleep(0.02)
        case "spoofed-progress":
            for step in range(10**6):
                progress(progressToken=token + 1, progress=step)
                progress(progressToken=str(token), progress=step)
                progress(progressToken=token, progress=-1)
                progress(progressToken=token, progress="x")
                progress(progressToken=token, progress=True)
                progress(progress=1)
                raw(b'{"jsonrpc":"2.0","method":"notifications/progress","params":[]}\n')
                time.sleep(0.02)
        case "notification-flood":
            line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}\n'
            for _ in range(100):
                raw(line * 500)
            send(good)
        case "list-changed":
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            send(good)
        case "asks":
            asked = ["ping", "roots/list", "sampling/createMessage", "elicitation/create", "no/such"]
            for position, method in enumerate(asked):
                send({"jsonrpc": "2.0", "id": f"s{position}", "method": method, "params": {}})
            if MODERN:
                send(good)
            else:
                answers = [json.loads(sys.stdin.readline()) for _ in asked]
                good["result"]["answers"] = {a["id"]: a.get("result", a.get("error", {}).get("code")) for a in answers}
                send(good)
        case "asks-a-person":
            fields = {"name": {"type": "string", "default": "Bob"}, "age": {"type": "integer", "default": 0}, "x": {}}
            wanted = {"message": "who?", "requestedSchema": {"type": "object", "properties": fields}}
            times = range(params["arguments"].get("times", 1))
            for position in times:
                send({"jsonrpc": "2.0", "id": position, "method": "elicitation/create", "params": wanted})
            good["result"]["answers"] = [json.loads(sys.stdin.readline()) for _ in times]
            send(good)
        case "asks-without-reading":
            line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
            for _ in range(80):
                raw(line * 1000)
            send(good)
        case "shuffled":
            HELD.append(good)
            if len(HELD) == 100:
                for item in reversed(HELD[::2] + HELD[1::2]):
                    send(item)
        case "stderr-flood":
            for _ in range(64):
                sys.stderr.write("noise " * 2000)
                sys.stderr.write("\n")
            sys.stderr.flush()
            send(good)
        case "stderr-flood-then-exit":
            sys.stderr.write("noise\n" * 100000)
            sys.stderr.write("the real reason\n")
            sys.stderr.flush()
            os._exit(9)
        case "daemon-holds-pipes":
            code = "import os, sys, time; os.setsid(); print('daemon', file=sys.stderr, flush=True); time.sleep(60)"
            daemon = subprocess.Popen([sys.executable, "-S", "-c", code])
            with open(os.environ["LOG"] + ".daemon", "w") as file:
                file.write(str(daemon.pid))
            os._exit(4)
        case "stops-reading":
            send(good)
            hang()
        case "input-required":
            need: dict[str, Any] = {"resultType": "input_required", "requestState": "s1"}
            need["inputRequests"] = {"name": {"method": "elicitation/create", "params": {"message": "who?"}}}
            if "inputResponses" in params:
                said = {"state": params.get("requestState"), "responses": params["inputResponses"], "id": number}
                reply(number, **text(json.dumps(said)))
            else:
                send({"jsonrpc": "2.0", "id": number, "result": need})
        case "input-for-ever":
            need = {"resultType": "input_required", "requestState": "s"}
            send({"jsonrpc": "2.0", "id": number, "result": need})
        case "input-for-what":
            send({"jsonrpc": "2.0", "id": number, "result": {"resultType": "input_required"}})
        case "environment":
            reply(number, **text(json.dumps(dict(os.environ))))
        case "meta":
            reply(number, **text(json.dumps(params.get("_meta"))))
        case _:
            send(good)


def confess(number: int, frame: FrameType | None) -> None:
    """Write down that SIGTERM came, then die of it."""
    if "LOG" in os.environ:
        with open(os.environ["LOG"] + ".term", "w"):
            pass
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def start() -> None:
    note(os.getpid())
    signal.signal(signal.SIGTERM, confess)
    if BEHAVIOUR == "grandchildren":
        code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
        for _ in range(2):
            note(subprocess.Popen([sys.executable, "-S", "-c", code]).pid)
    if BEHAVIOUR in ("ignores-sigterm", "grandchildren"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if BEHAVIOUR == "crash-leaves-children":
        note(subprocess.Popen(["sleep", "60"]).pid)
    if STAGE == "start":
        do(WHAT, 0)
    if BEHAVIOUR == "slow-start":
        time.sleep(0.5)
    if BEHAVIOUR == "banner":
        raw(b"Welcome to the server!\n")


def handle(message: dict[str, Any]) -> None:
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if "LOG" in os.environ:
        with open(os.environ["LOG"], "a") as file:
            file.write(json.dumps(message) + "\n")
    stage = STAGES.get(str(method))
    if STAGE and stage == STAGE and do(WHAT, number):
        return
    if number is None or method is None:
        return
    if method == "server/discover":
        if BEHAVIOUR == "probe-refused":
            refuse(number, -32022, "Unsupported protocol version", data={"supported": ["2026-07-28"]})
        elif MODERN:
            versions: object = ["2099-01-01"] if BEHAVIOUR == "newer-version" else ["2026-07-28"]
            if BEHAVIOUR == "odd-discovery":
                versions = "2026-07-28"
            reply(number, supportedVersions=versions, capabilities={"tools": {}}, serverInfo={"name": "hostile"})
        else:
            refuse(number, -32602 if BEHAVIOUR == "probe-bad-params" else -32601, "Method not found")
    elif method == "initialize":
        if MODERN:
            refuse(number, -32601, "Method not found")
        elif BEHAVIOUR == "picky-version" and params["protocolVersion"] != "2025-03-26":
            refuse(number, -32602, "Unsupported protocol version", data={"supported": ["2025-03-26"]})
        elif BEHAVIOUR == "alien-version":
            refuse(number, -32602, "Unsupported protocol version", data={"supported": ["1999-01-01"]})
        else:
            version: object = "2025-03-26" if BEHAVIOUR == "picky-version" else VERSION
            if BEHAVIOUR == "version-number":
                version = 7
            reply(number, protocolVersion=version, capabilities={}, serverInfo={"name": "hostile", "version": "1"})
    elif method == "tools/list":
        reply(number, **tools(params))
    elif method == "tools/call":
        call(number, params)
    else:
        refuse(number, -32601, "Method not found")


def main() -> None:
    start()
    for line in sys.stdin.buffer:
        handle(json.loads(line))
    if STAGE == "eof":
        do(WHAT, 0)
    if BEHAVIOUR in ("ignores-eof", "ignores-sigterm", "grandchildren"):
        hang()


main()
