"""TLS: verified by the name in the address, pinned to the checked address, off only where a node says so."""

import asyncio
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import SecurityError, StepError
from pflow.nodes.http.message import Request
from pflow.nodes.http.network_policy import NetworkPolicy
from pflow.nodes.http.node import Http
from pflow.nodes.http.step_client import StepClient
from tests.nodes.local_http import LocalServer, Step, answer

pytestmark = pytest.mark.needs("openssl")

LOOPBACK = NetworkPolicy(allow_private=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Makes a self-signed certificate for a name; gives its file and its key's."""
    folder = tmp_path_factory.mktemp("tls")

    def make(name: str, *extra: str) -> tuple[Path, Path]:
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        if not certificate.exists():
            subprocess.run(
                [
                    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
                    *("-nodes", "-keyout", key, "-out", certificate, "-subj", f"/CN={name}", "-days", "3650"),
                    *("-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1", *extra),
                ],
                check=True,
                capture_output=True,
            )
        return certificate, key

    return make


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def to_loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def call(context: ssl.SSLContext, host: str, path: str = "/") -> Any:
    """A verified call to the server under a name that only our resolver knows."""

    async def scenario() -> Any:
        async with LocalServer(lambda _: answer(200, b"hello"), context) as server:
            client = StepClient(LOOPBACK, resolve=to_loopback)
            try:
                return await client.send(Request(method="GET", url=server.url(path, host), timeout=20)), server.requests
            finally:
                await client.aclose()

    return asyncio.run(scenario())


def test_a_trusted_server_is_called_by_its_name_at_the_checked_address(
    certificates: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = certificates("pinned.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = server_context(certificate, key)
    asked = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    reply, (received,) = call(context, "pinned.test")
    assert reply.content == b"hello"
    assert asked == ["pinned.test"]
    assert received.headers["host"].startswith("pinned.test:")


def test_a_certificate_for_another_name_is_refused(
    certificates: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = certificates("pinned.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(StepError, match="cannot be trusted: Hostname mismatch"):
        call(server_context(certificate, key), "other.test")


def test_a_certificate_of_no_known_authority_is_refused(certificates: Callable[..., Any]) -> None:
    with pytest.raises(StepError) as caught:
        call(server_context(*certificates("pinned.test")), "pinned.test", "/x?key=hunter2")
    error = caught.value
    assert "/x` cannot be trusted: self-signed certificate" in error.message
    assert error.action == "error"
    assert error.suggestions == (
        "if a private authority signed it, name its file in the environment variable SSL_CERT_FILE",
        "to skip verification for this one node, set `insecure` to true",
    )
    assert "hunter2" not in repr((error.message, error.details))


def test_an_expired_certificate_is_refused(
    certificates: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = certificates("pinned.test")
    request, config = tmp_path / "r.csr", tmp_path / "ca.cnf"
    expired = tmp_path / "expired.pem"
    (tmp_path / "index").write_text("")
    config.write_text(
        f"[ca]\ndefault_ca=d\n[d]\ndatabase={tmp_path}/index\nnew_certs_dir={tmp_path}\ndefault_md=sha256\n"
        "policy=p\nrand_serial=yes\nx509_extensions=x\n[p]\ncommonName=supplied\n"
        "[x]\nsubjectAltName=DNS:pinned.test\nbasicConstraints=CA:TRUE\n"
    )
    subprocess.run(
        ["openssl", "req", "-new", "-key", key, "-out", request, "-subj", "/CN=pinned.test"],
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [
            *("openssl", "ca", "-batch", "-selfsign", "-config", config, "-keyfile", key, "-in", request),
            *("-out", expired, "-startdate", "20200101000000Z", "-enddate", "20200201000000Z", "-notext"),
        ],
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(expired))
    with pytest.raises(StepError, match="cannot be trusted: certificate has expired"):
        call(server_context(expired, key), "pinned.test")


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_an_old_protocol_is_refused(certificates: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = certificates("pinned.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = server_context(certificate, key)
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(StepError):
        call(context, "pinned.test")


def test_plain_http_where_tls_is_expected_fails_the_step(tmp_path: Path) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer(400))
        writer.close()
        await writer.wait_closed()

    async def scenario() -> None:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await Step(tmp_path).run(Http, url=f"https://127.0.0.1:{port}/")

    with pytest.raises(StepError, match="does not speak TLS as it should: WRONG_VERSION_NUMBER"):
        asyncio.run(scenario())


def test_a_node_can_go_without_verification_and_says_so(certificates: Callable[..., Any], tmp_path: Path) -> None:
    step = Step(tmp_path)

    async def scenario() -> Any:
        async with LocalServer(lambda _: answer(200, b"hello"), server_context(*certificates("pinned.test"))) as server:
            with pytest.raises(StepError):
                await step.run(Http, url=server.url())
            written = await step.run(Http, url=server.url(), insecure=True)
            with pytest.raises(StepError):  # the unverified connection is not reused
                await step.run(Http, url=server.url())
            return written

    assert asyncio.run(scenario())["response"] == "hello"
    assert step.reports == ["TLS certificates are not verified for GET of this step"]


def test_a_redirect_does_not_lead_from_https_to_http(certificates: Callable[..., Any], tmp_path: Path) -> None:
    async def scenario() -> Any:
        async with LocalServer(lambda _: answer()) as plain:
            moved = answer(302, b"", {"Location": plain.url("/x?key=hunter2")})
            async with LocalServer(lambda _: moved, server_context(*certificates("pinned.test"))) as server:
                with pytest.raises(SecurityError) as caught:
                    await Step(tmp_path).run(Http, url=server.url(), insecure=True)
            return caught.value, plain.requests

    error, requests = asyncio.run(scenario())
    assert "which is not encrypted" in error.message
    assert "hunter2" not in error.message
    assert requests == []
