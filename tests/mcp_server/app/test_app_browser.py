"""The page in the chat inside the official host side of MCP Apps, in a real browser, over a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import jsonschema_rs
import pytest

import dev_needs
from tests.mcp_server.app.speaking import ASKING, Speaker, view_of
from tests.web.browser import PATIENCE_MS, Watched, open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs("browser"), pytest.mark.needs("apps")]

ORIGIN = "http://host.invalid"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'none'"
)
TOOLS: dict[str, Any] = {"serverTools": {}, "updateModelContext": {"text": {}}, "message": {"text": {}}}
NO_TOOLS: dict[str, Any] = {"message": {"text": {}}}
FAILING = {"name": "failing", "nodes": [{"id": "bad", "type": "shell", "params": {"command": "exit 3"}}]}
DONE = {"name": "done", "nodes": [{"id": "one", "type": "echo", "params": {"message": "<img src=x onerror=alert(1)>"}}]}
SCHEMAS = {
    "ui/initialize": "McpUiInitializeRequest",
    "ui/notifications/initialized": "McpUiInitializedNotification",
    "ui/notifications/size-changed": "McpUiSizeChangedNotification",
    "ui/message": "McpUiMessageRequest",
    "ui/update-model-context": "McpUiUpdateModelContextRequest",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        yield found


@pytest.fixture
def speaker(home: Path) -> Iterator[Speaker]:
    found = Speaker(home)
    yield found
    found.close()


class Chat:
    """A host that shows the page, and passes its calls on to the server."""

    def __init__(self, browser: Browser, speaker: Speaker, scheme: Literal["light", "dark"]) -> None:
        # the system's colours are the other ones, so that only the host can have set them
        self.watched = Watched(browser, ORIGIN, "light" if scheme == "dark" else "dark")
        self.page: Any = self.watched.page
        self.calls: list[dict[str, Any]] = []
        self._speaker = speaker
        [self._document] = speaker.ask("resources/read", {"uri": "ui://pflow/run.html"})["result"]["contents"]
        self.page.route(f"{ORIGIN}/**", self._serve)
        self.page.expose_function("callTool", self._call)
        self.page.goto(f"{ORIGIN}/")
        self.app = self.page.frame_locator("#app")

    def _serve(self, route: Any) -> None:
        if route.request.url.endswith("/bridge.js"):
            route.fulfill(path=str(dev_needs.APPS / "bridge.js"))
        elif route.request.url.endswith("/run.html"):
            headers = {"Content-Security-Policy": POLICY, "Content-Type": "text/html"}
            route.fulfill(body=self._document["text"], headers=headers)
        else:
            route.fulfill(path=str(Path(__file__).with_name("host.html")))

    def _call(self, params: str) -> str:
        found = json.loads(params)
        self.calls.append(found)
        return json.dumps(self._speaker.call(found["name"], **found["arguments"]))

    def begin(self, theme: str, capabilities: dict[str, Any], *, refuses: bool = False) -> None:
        self.page.evaluate(
            "options => window.begin(options)", {"theme": theme, "capabilities": capabilities, "refuses": refuses}
        )

    def show(self, result: dict[str, Any]) -> None:
        self.page.evaluate("r => window.bridge.sendToolInput({arguments: {}})")
        kept = {name: result[name] for name in ("content", "structuredContent", "isError", "_meta") if name in result}
        self.page.evaluate("r => window.bridge.sendToolResult(r)", kept)

    def heard(self, method: str) -> list[dict[str, Any]]:
        return [one for one in self.page.evaluate("window.heard") if one.get("method") == method]

    def await_heard(self, method: str) -> dict[str, Any]:
        self.page.wait_for_function("m => window.heard.some(one => one.method === m)", arg=method)
        return self.heard(method)[-1]

    def check(self) -> None:
        """Every message is as the schema has it, and nothing was refused or complained of."""
        schema = json.loads(dev_needs.APPS_SCHEMA.read_text())
        for message in self.page.evaluate("window.heard"):
            assert message["jsonrpc"] == "2.0"
            if message.get("method", "").startswith("ui/"):
                plain = {name: message[name] for name in ("method", "params")}
                wanted = {**schema, "$ref": f"#/$defs/{SCHEMAS[message['method']]}"}
                jsonschema_rs.validate(wanted, plain)
        [frame] = [one for one in self.page.frames if one.url.endswith("run.html")]
        assert frame.evaluate("window.refused") == []
        self.watched.check()


Open = Callable[..., Chat]


@pytest.fixture
def chat(browser: Browser, speaker: Speaker) -> Iterator[Open]:
    opened: list[Chat] = []

    def open_chat(theme: Literal["light", "dark"] = "light") -> Chat:
        opened.append(Chat(browser, speaker, theme))
        return opened[-1]

    try:
        yield open_chat
        for each in opened:
            each.check()
    finally:
        for each in opened:
            each.watched.close()


def see(locator: Any) -> Any:
    """Something that the page will show, sooner or later."""
    from playwright.sync_api import expect

    class Patient:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *args: getattr(expect(locator), name)(*args, timeout=PATIENCE_MS)

    return Patient()


def gated(gate: Path) -> dict[str, Any]:
    """A document whose step waits for a file."""
    command = f"until [ -e '{gate}' ]; do sleep 0.05; done"
    return {"name": "gated", "nodes": [{"id": "wait", "type": "shell", "params": {"command": command}}]}


def every_way() -> Iterator[Any]:
    """Each state in each way to show it; one way of each is enough for a quick look."""
    quick = {
        ("running", "light", "tools"),
        ("failed", "dark", "no-tools"),
        ("asked", "dark", "tools"),
        ("done", "light", "no-tools"),
    }
    for way in product(("running", "failed", "asked", "done"), ("light", "dark"), ("tools", "no-tools")):
        state, theme, tools = way
        marks = () if way in quick else (pytest.mark.slow,)
        yield pytest.param(state, theme, TOOLS if tools == "tools" else NO_TOOLS, id="-".join(way), marks=marks)


@pytest.mark.parametrize(("state", "theme", "capabilities"), list(every_way()))
def test_each_state_of_a_run_is_shown(
    chat: Open, speaker: Speaker, tmp_path: Path, state: str, theme: Literal["light", "dark"], capabilities: Any
) -> None:
    gate = tmp_path / "gate"
    document = {"running": gated(gate), "failed": FAILING, "asked": ASKING, "done": DONE}[state]
    result = speaker.call("workflow_execute", workflow=document, detach=state == "running")
    host = chat(theme)
    host.begin(theme, capabilities)
    host.show(result)
    status = {"asked": "waiting", "done": "completed"}.get(state, state)
    see(host.app.locator(".head .pill")).to_contain_text(status)
    if state != "running" or capabilities is TOOLS:  # a view that does not refresh may be of before the first step
        see(host.app.locator(".row")).to_have_count(2 if state == "asked" else 1)
    see(host.app.locator("#graph svg")).to_be_visible()
    if state != "running":
        look = {"asked": "asked", "failed": "failed", "done": "done"}[state]
        see(host.app.locator(f"[data-node].{look}")).to_have_count(1)
    see(host.app.locator("form")).to_have_count(1 if state == "asked" else 0)
    assert host.app.locator("html").get_attribute("data-theme") == theme
    paper = host.app.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if theme == "light" else "rgb(18, 22, 28)")
    host.await_heard("ui/notifications/size-changed")
    if state == "running":
        gate.touch()
        if capabilities is TOOLS:
            see(host.app.locator(".head .pill")).to_contain_text("completed")
        else:
            see(host.app.locator("body")).to_contain_text("does not refresh")
    if capabilities is NO_TOOLS or state in ("failed", "done"):
        assert host.calls == []


@pytest.mark.slow
def test_a_first_call_is_shown_before_it_has_answered(chat: Open, speaker: Speaker, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    host = chat()
    host.begin("light", TOOLS)
    host.page.evaluate("workflow => window.bridge.sendToolInput({arguments: {workflow}})", gated(gate))
    see(host.app.locator("body")).to_contain_text("running gated …")
    result = speaker.call("workflow_execute", workflow=gated(gate), detach=True)
    see(host.app.locator(".head .pill")).to_contain_text("running")
    see(host.app.locator(".row")).to_have_count(1)
    see(host.app.locator("[data-node].running")).to_have_count(1)
    see(host.app.locator(".head .id")).to_contain_text(result["structuredContent"]["data"]["run_id"])
    gate.touch()
    see(host.app.locator(".head .pill")).to_contain_text("completed")
    see(host.app.locator("[data-node].done")).to_have_count(1)


def test_an_answer_is_given_after_a_restart_and_the_model_hears_of_it(chat: Open, speaker: Speaker) -> None:
    asked = speaker.call("workflow_execute", workflow=ASKING)
    host = chat()
    host.begin("light", TOOLS)
    host.show(asked)
    see(host.app.locator("pre.text", has_text="Hello <b>all</b>")).to_be_visible()
    speaker.restart()
    host.app.get_by_label("copies").fill("3")
    host.app.get_by_role("button", name="post", exact=True).click()
    told = host.await_heard("ui/update-model-context")
    [line] = told["params"]["content"]
    view = view_of(asked)
    assert line["text"] == f'A person answered `approve` of run {view["run_id"]} in the view: post {{"copies":3}}'
    see(host.app.locator(".head .pill")).to_contain_text("completed")
    see(host.app.locator("form")).to_have_count(0)
    [sent] = [call["arguments"] for call in host.calls if call["name"] == "workflow_execute"]
    answer = {"choice": "post", "answer": {"copies": 3}, "key": view["questions"][0]["key"]}
    assert (sent["resume"], sent["answers"]) == (view["run_id"], {"approve": answer})


def test_declining_is_an_answer(chat: Open, speaker: Speaker) -> None:
    host = chat()
    host.begin("light", TOOLS)
    host.show(speaker.call("workflow_execute", workflow=ASKING))
    host.app.get_by_role("button", name="Decline").click()
    see(host.app.locator(".head .pill")).to_contain_text("completed")
    see(host.app.locator(".row", has_text="stopped")).to_have_count(1)


@pytest.mark.slow
@pytest.mark.parametrize("refuses", [False, True])
def test_a_host_that_passes_no_calls_on_is_told_in_the_chat(chat: Open, speaker: Speaker, refuses: bool) -> None:
    asked = speaker.call("workflow_execute", workflow=ASKING)
    host = chat()
    host.begin("light", TOOLS if refuses else NO_TOOLS, refuses=refuses)
    host.show(asked)
    host.app.get_by_role("button", name="stop", exact=True).click()
    said = host.await_heard("ui/message")["params"]
    run_id = view_of(asked)["run_id"]
    assert said["content"][0]["text"].startswith(f"My answer to `approve` of run {run_id}: stop")
    assert view_of(asked)["questions"][0]["key"] not in json.dumps(said)
    see(host.app.locator(".said")).to_contain_text(f"pflow answer {run_id} approve")


@pytest.mark.slow
def test_an_answer_that_is_refused_says_why_and_can_be_given_again(chat: Open, speaker: Speaker) -> None:
    asked = speaker.call("workflow_execute", workflow=ASKING)
    key = view_of(asked)["questions"][0]["key"]
    host = chat()
    host.begin("light", {**TOOLS})
    view_of(asked)["questions"][0]["key"] = "forged"
    host.show(asked)
    host.app.get_by_role("button", name="post", exact=True).click()
    see(host.app.locator("form [role=alert]")).to_contain_text("is for a person")
    see(host.app.locator(".head .pill")).to_contain_text("waiting")
    view_of(asked)["questions"][0]["key"] = key
    host.show(asked)
    host.app.get_by_role("button", name="post", exact=True).click()
    see(host.app.locator(".head .pill")).to_contain_text("completed")
    see(host.app.locator("form")).to_have_count(0)
    sent = [call["arguments"]["answers"]["approve"] for call in host.calls if call["name"] == "workflow_execute"]
    assert [(one["choice"], one["key"]) for one in sent] == [("post", "forged"), ("post", key)]


def test_an_unknown_run_shows_what_the_tool_says(chat: Open, speaker: Speaker) -> None:
    host = chat()
    host.begin("light", TOOLS)
    host.show(speaker.call("trace_read", trace_file="20990101-000000-zzzz"))
    see(host.app.locator("[role=alert]")).to_contain_text("20990101-000000-zzzz")


@pytest.mark.slow
def test_other_windows_are_not_listened_to(chat: Open, speaker: Speaker) -> None:
    host = chat()
    host.begin("light", TOOLS)
    host.show(speaker.call("workflow_execute", workflow=DONE))
    see(host.app.locator(".head .pill")).to_contain_text("completed")
    forged = {"jsonrpc": "2.0", "method": "ui/notifications/tool-result", "params": {"isError": True, "content": []}}
    host.page.evaluate(
        """forged => new Promise(resolve => {
          const other = document.createElement("iframe");
          document.body.append(other);
          const app = document.getElementById("app").contentWindow;
          other.contentWindow.app = app;
          const script = other.contentDocument.createElement("script");
          script.textContent = `app.postMessage(${JSON.stringify(forged)}, "*"); parent.postMessage("sent", "*")`;
          addEventListener("message", event => event.data === "sent" && resolve());
          other.contentDocument.body.append(script);
        })""",
        forged,
    )
    host.page.evaluate("window.bridge.setHostContext({theme: 'dark'})")  # what comes after it has been seen
    see(host.app.locator("html")).to_have_attribute("data-theme", "dark")
    see(host.app.locator(".head .pill")).to_contain_text("completed")


def test_a_host_that_is_silent_is_not_waited_for(browser: Browser, speaker: Speaker) -> None:
    [document] = speaker.ask("resources/read", {"uri": "ui://pflow/run.html"})["result"]["contents"]
    watched = Watched(browser, ORIGIN)
    page: Any = watched.page
    page.clock.install()
    page.route(f"{ORIGIN}/**", lambda route: route.fulfill(body=document["text"], content_type="text/html"))
    page.goto(f"{ORIGIN}/")
    page.clock.run_for(9_000)
    see(page.locator("body")).to_contain_text("waiting for the host")
    page.clock.run_for(2_000)
    see(page.locator("body")).to_contain_text("Open pflow ui to see runs")
    watched.close()
