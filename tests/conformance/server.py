"""The server that the official conformance suite is run against: pflow's own, with the tools that the suite asks for.

Everything about the protocol, the transport and the gate is what `pflow serve mcp --http` has. The suite sends no
token, so requests get one on their way to the gate. Prints the URL, then serves until a signal comes.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.server import require_client_extension
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptResult,
    InputRequiredResult,
    JSONRPCMessage,
    ListPromptsResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Prompt,
    Resource,
    ResourceTemplate,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    Tool,
    UnsubscribeRequestParams,
)

from pflow.core.file.home import Home, find_home
from pflow.mcp_server.http_gate import PATH
from pflow.mcp_server.http_server import make_listener, serve_http
from pflow.mcp_server.listen_address import Address, listen, names_of
from pflow.mcp_server.task import IDENTIFIER
from pflow.mcp_server.tool_server import PflowServer

TOKEN = "the suite does not know how to send one"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="

Json = dict[str, Any]
Call = Callable[["Request"], Awaitable[Json]]
Asks = dict[str, Json]


class Request:
    """One call of a tool or a prompt of the fixture."""

    def __init__(self, context: Context[Any, Any], arguments: Mapping[str, Any]) -> None:
        self.context = context
        self.arguments = arguments

    def answer(self, key: str) -> Any:
        """What the client answered to a question, if it did."""
        found: Any = (self.context.input_responses or {}).get(key)
        return found.model_dump(by_alias=True) if hasattr(found, "model_dump") else found

    def can(self, capability: str) -> bool:
        """Whether the client declared a capability."""
        return getattr(self.context.client_capabilities, capability, None) is not None


def text(*lines: str) -> Json:
    return {"content": [{"type": "text", "text": line} for line in lines]}


def ask(requests: Asks, state: str | None = None) -> Json:
    return {"inputRequests": requests, **({"requestState": state} if state else {})}


def form(message: str, **fields: str) -> Json:
    properties = {name: {"type": kind} for name, kind in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(question: str, most: int = 100) -> Json:
    message = {"role": "user", "content": {"type": "text", "text": question}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": most}}


ROOTS: Json = {"method": "roots/list", "params": {}}


# ---- tools


def gives(content: list[Json]) -> Call:
    async def call(request: Request) -> Json:
        return {"content": content}

    return call


async def log_thrice(request: Request) -> Json:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        session = request.context.session
        await session.send_log_message("info", message, related_request_id=request.context.request_id)
        await asyncio.sleep(0.05)
    return text("logged")


async def progress(request: Request) -> Json:
    for amount in (0, 50, 100):
        await request.context.report_progress(amount, 100, f"{amount} of 100")
        await asyncio.sleep(0.05)
    return text("done")


async def fails(request: Request) -> Json:
    return {**text("This tool intentionally returns an error for testing"), "isError": True}


async def samples(request: Request) -> Json:
    question = TextContent(type="text", text=str(request.arguments.get("prompt", "")))
    result = await request.context.session.create_message(
        [SamplingMessage(role="user", content=question)], max_tokens=100, related_request_id=request.context.request_id
    )
    return text(f"LLM response: {getattr(result.content, 'text', result.content)}")


async def elicit(request: Request, message: str, schema: Json, said: str) -> Json:
    result = await request.context.session.elicit(message, schema, related_request_id=request.context.request_id)
    return text(f"{said}action={result.action}, content={result.content}")


async def elicits(request: Request) -> Json:
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    schema = {"type": "object", "properties": properties, "required": ["username", "email"]}
    return await elicit(request, str(request.arguments.get("message", "")), schema, "User response: ")


async def elicits_defaults(request: Request) -> Json:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicit(request, "defaults", {"type": "object", "properties": properties}, "Elicitation completed: ")


async def elicits_enums(request: Request) -> Json:
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"))]
    titled.append({"const": "value3", "title": "Third Option"})
    old = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **old},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicit(request, "enums", {"type": "object", "properties": properties}, "Elicitation completed: ")


async def reconnects(request: Request) -> Json:
    await asyncio.sleep(0.1)
    await request.context.close_sse_stream()
    await asyncio.sleep(0.1)
    return text("Reconnection test completed successfully")


async def needs_sampling(request: Request) -> Json:
    if not request.can("sampling"):
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(code=MISSING_REQUIRED_CLIENT_CAPABILITY, message="sampling is needed", data=data)
    return text("sampling is there")


async def asks_name(request: Request) -> Json:
    found = request.answer("user_name") or {}
    name = (found.get("content") or {}).get("name")
    return (
        text(f"Hello, {name}!")
        if isinstance(name, str)
        else ask({"user_name": form("What is your name?", name="string")})
    )


async def asks_capital(request: Request) -> Json:
    found = request.answer("capital_question")
    return text(str(found["content"])) if found else ask({"capital_question": sample("What is the capital of France?")})


async def asks_roots(request: Request) -> Json:
    found = request.answer("client_roots")
    return text(str(found["roots"])) if found else ask({"client_roots": ROOTS})


async def asks_with_state(request: Request) -> Json:
    if request.answer("confirm") and request.context.request_state == "first":
        return text("state-ok")
    return ask({"confirm": form("Please confirm", ok="boolean")}, "first")


async def asks_all(request: Request) -> Json:
    requests = {
        "user_name": form("What is your name?", name="string"),
        "greeting": sample("Generate a greeting", 50),
        "client_roots": ROOTS,
    }
    return text("thanks") if all(request.answer(key) for key in requests) else ask(requests, "all")


async def asks_twice(request: Request) -> Json:
    state = request.context.request_state
    if state == "second" and request.answer("step2"):
        return text("done")
    if state == "first" and request.answer("step1"):
        return ask({"step2": form("Step 2: What is your favorite color?", color="string")}, "second")
    return ask({"step1": form("Step 1: What is your name?", name="string")}, "first")


async def asks_what_it_may(request: Request) -> Json:
    known = {"elicitation": form("What is your name?", name="string"), "sampling": sample("Hello?"), "roots": ROOTS}
    allowed = {name: each for name, each in known.items() if request.can(name)}
    return text("nothing to ask") if not allowed or request.context.input_responses else ask(allowed)


async def greet(request: Request) -> Json:
    return text(f"Hello, {request.arguments.get('name')}!")


async def streams(request: Request) -> Json:
    await request.context.report_progress(1, 2, "half")
    return (
        text("done") if request.answer("user_name") else ask({"user_name": form("What is your name?", name="string")})
    )


ADDRESS = {"street": {"type": "string"}, "city": {"type": "string"}}
RICH: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": ADDRESS}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
MIXED = {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": '{"test":"data","value":123}'}
EMBEDDED = {
    "uri": "test://embedded-resource",
    "mimeType": "text/plain",
    "text": "This is an embedded resource content.",
}
HEADED = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
ONE = {"type": "object", "properties": {"prompt": {"type": "string"}, "message": {"type": "string"}}}

TOOLS: dict[str, Call] = {
    "test_simple_text": gives([{"type": "text", "text": "This is a simple text response for testing."}]),
    "test_image_content": gives([IMAGE]),
    "test_audio_content": gives([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]),
    "test_embedded_resource": gives([{"type": "resource", "resource": EMBEDDED}]),
    "test_multiple_content_types": gives(
        [{"type": "text", "text": "Multiple content types test:"}, IMAGE, {"type": "resource", "resource": MIXED}]
    ),
    "test_tool_with_logging": log_thrice,
    "test_logging_tool": log_thrice,
    "test_tool_with_progress": progress,
    "test_error_handling": fails,
    "test_sampling": samples,
    "test_elicitation": elicits,
    "test_elicitation_sep1034_defaults": elicits_defaults,
    "test_elicitation_sep1330_enums": elicits_enums,
    "test_reconnection": reconnects,
    "test_missing_capability": needs_sampling,
    "test_streaming_elicitation": streams,
    "test_input_required_result_elicitation": asks_name,
    "test_input_required_result_sampling": asks_capital,
    "test_input_required_result_list_roots": asks_roots,
    "test_input_required_result_request_state": asks_with_state,
    "test_input_required_result_tampered_state": asks_with_state,
    "test_input_required_result_multiple_inputs": asks_all,
    "test_input_required_result_multi_round": asks_twice,
    "test_input_required_result_capabilities": asks_what_it_may,
    "greet": greet,
    "test_custom_header": gives([{"type": "text", "text": "heard"}]),
    "json_schema_2020_12_tool": gives([{"type": "text", "text": "ok"}]),
}
SCHEMAS = {
    "test_sampling": ONE,
    "test_elicitation": ONE,
    "test_custom_header": HEADED,
    "json_schema_2020_12_tool": RICH,
}


# ---- prompts and resources


def message(content: Json) -> Json:
    return {"role": "user", "content": content}


def said(words: str) -> Json:
    return message({"type": "text", "text": words})


async def simple_prompt(request: Request) -> Json:
    return {"messages": [said("This is a simple prompt for testing.")]}


async def argued_prompt(request: Request) -> Json:
    first, second = request.arguments["arg1"], request.arguments["arg2"]
    return {"messages": [said(f"Prompt with arguments: arg1='{first}', arg2='{second}'")]}


async def embedding_prompt(request: Request) -> Json:
    uri = request.arguments["resourceUri"]
    resource = {"uri": uri, "mimeType": "text/plain", "text": "Embedded resource content for testing."}
    embedded = message({"type": "resource", "resource": resource})
    return {"messages": [embedded, said("Please process the embedded resource above.")]}


async def picture_prompt(request: Request) -> Json:
    return {"messages": [message(IMAGE), said("Please analyze the image above.")]}


async def asking_prompt(request: Request) -> Json:
    found = request.answer("user_context")
    if not found:
        return ask({"user_context": form("What context should the prompt use?", context="string")})
    return {"messages": [said(f"Use {found['content']['context']}")]}


PROMPTS: dict[str, tuple[Call, tuple[str, ...]]] = {
    "test_simple_prompt": (simple_prompt, ()),
    "test_prompt_with_arguments": (argued_prompt, ("arg1", "arg2")),
    "test_prompt_with_embedded_resource": (embedding_prompt, ("resourceUri",)),
    "test_prompt_with_image": (picture_prompt, ()),
    "test_input_required_result_prompt": (asking_prompt, ()),
}
RESOURCES: dict[str, tuple[str, str | bytes]] = {
    "test://static-text": ("text/plain", "This is the content of the static text resource."),
    "test://static-binary": ("image/png", bytes.fromhex("89504e470d0a1a0a")),
    "test://watched-resource": ("text/plain", "Watched."),
    "test://template/123/data": ("application/json", '{"id":"123","templateTest":true,"data":"Data for ID: 123"}'),
}


# ---- tasks


def sleeping(seconds: object) -> Json:
    """A document that takes its time."""
    command = f"sleep {float(str(seconds))}; echo slept"
    return {
        "nodes": [{"id": "sleep", "type": "shell", "params": {"command": command}}],
        "outputs": {"text": {"source": "${sleep.stdout}"}},
    }


RUNS: dict[str, Callable[[Mapping[str, Any]], Json]] = {
    "slow_compute": lambda arguments: sleeping(arguments.get("seconds", 1)),
    "test_tool_with_task": lambda arguments: {
        "nodes": [{"id": "echo", "params": {"text": arguments["user_name"]}}],
        "outputs": {"text": {"source": "${echo.text}"}},
    },
    "failing_job": lambda _: {"nodes": [{"id": "fail", "type": "shell", "params": {"command": "sleep 1; exit 1"}}]},
}
"""Tools that are runs: with tasks for who knows them."""


class FixtureServer(PflowServer):
    """pflow's server with what the suite asks for beside its own."""

    detaching = frozenset(RUNS) | {"workflow_execute"}

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._extra = 0
        low = self._lowlevel_server
        low.add_request_handler("logging/setLevel", SetLevelRequestParams, self._accept)
        low.add_request_handler("resources/subscribe", SubscribeRequestParams, self._accept)
        low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self._accept)
        low.add_request_handler("completion/complete", CompleteRequestParams, self._complete)

    async def _accept(self, ctx: ServerRequestContext[Any], params: Any) -> EmptyResult:
        return EmptyResult()

    async def _complete(self, ctx: ServerRequestContext[Any], params: CompleteRequestParams) -> CompleteResult:
        return CompleteResult(completion=Completion(values=["paris", "park", "party"], total=3, has_more=False))

    async def list_tools(self) -> list[Tool]:
        names = [*TOOLS, *RUNS, "test_trigger_tool_change", "test_trigger_prompt_change"]
        extra = [f"extra_{number}" for number in range(self._extra)]
        plain = {"type": "object", "properties": {}}
        mine = [
            Tool(name=name, description="For the suite", input_schema=SCHEMAS.get(name, plain))
            for name in [*names, *extra]
        ]
        return [*await super().list_tools(), *mine]

    def _tool_input_schema(self, name: str) -> Json | None:
        return SCHEMAS.get(name)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        assert context is not None
        if name == "test_trigger_tool_change":
            self._extra += 1
            await self._subscriptions.publish(ToolsListChanged())
            return CallToolResult.model_validate(text("changed"))
        if name == "test_trigger_prompt_change":
            await self._subscriptions.publish(PromptsListChanged())
            return CallToolResult.model_validate(text("changed"))
        if name in RUNS:
            if name != "slow_compute":
                require_client_extension(context.request_context, IDENTIFIER)
            if name == "test_tool_with_task":
                answer = Request(context, arguments).answer("user_name")
                if not answer:
                    question = form("What is your name?", name="string")
                    return InputRequiredResult.model_validate(ask({"user_name": question}))
                arguments = {"user_name": answer["content"]["name"]}
            capabilities = context.client_capabilities
            detach = IDENTIFIER in ((capabilities.extensions if capabilities else None) or {})
            run = {"workflow": RUNS[name](arguments), "detach": detach}
            return await super().call_tool("workflow_execute", run, context)
        if name not in TOOLS:
            return await super().call_tool(name, arguments, context)
        found = await TOOLS[name](Request(context, arguments))
        kind = InputRequiredResult if "inputRequests" in found else CallToolResult
        return kind.model_validate(found)

    async def _page_resources(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        listed = await super()._page_resources(ctx, params)
        mine = [
            Resource(uri=uri, name=uri, description="For the suite", mime_type=kind)
            for uri, (kind, _) in RESOURCES.items()
            if "template" not in uri
        ]
        return ListResourcesResult(resources=[*listed.resources, *mine])

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        mine = ResourceTemplate(uri_template="test://template/{id}/data", name="data", description="For the suite")
        return [*await super().list_resource_templates(), mine]

    async def read_resource(
        self, uri: object, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents]:
        if str(uri) not in RESOURCES:
            return await super().read_resource(uri, context)
        kind, content = RESOURCES[str(uri)]
        return [ReadResourceContents(content=content, mime_type=kind)]

    async def _page_prompts(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        listed = await super()._page_prompts(ctx, params)
        mine = [
            Prompt.model_validate(
                {
                    "name": name,
                    "description": "For the suite",
                    "arguments": [{"name": each, "description": each, "required": True} for each in arguments],
                }
            )
            for name, (_, arguments) in PROMPTS.items()
        ]
        return ListPromptsResult(prompts=[*listed.prompts, *mine])

    async def get_prompt(  # type: ignore[override]
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        if name not in PROMPTS:
            return await super().get_prompt(name, arguments, context)
        assert context is not None
        found = await PROMPTS[name][0](Request(context, arguments or {}))
        kind = InputRequiredResult if "inputRequests" in found else GetPromptResult
        return kind.model_validate(found)


class Events(EventStore):
    """What was sent, so that a client that was cut off gets the rest."""

    def __init__(self) -> None:
        self._sent: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._sent.append((stream_id, message))
        return str(len(self._sent))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        if not last_event_id.isdecimal() or not 0 < int(last_event_id) <= len(self._sent):
            return None
        stream = self._sent[int(last_event_id) - 1][0]
        for position, (other, message) in enumerate(self._sent, start=1):
            if position > int(last_event_id) and other == stream and message is not None:
                await send_callback(EventMessage(message, str(position)))
        return stream


def with_token(app: Any) -> Any:
    async def pass_on(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]}
        await app(scope, receive, send)

    return pass_on


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        server = FixtureServer(find_home({"PFLOW_HOME": str(Path(folder) / ".pflow")}))
        bound = listen(Address(host="127.0.0.1", port=0), remote=False)
        address = Address(host="127.0.0.1", port=bound.getsockname()[1])
        listener = make_listener(server, hosts=names_of(address), token=TOKEN, event_store=Events(), retry_interval=500)
        listener.config.app = with_token(listener.config.app)
        print(f"http://{address.shown()}{PATH}", flush=True)
        return asyncio.run(serve_http(server, listener, bound))


if __name__ == "__main__":
    sys.exit(main())
