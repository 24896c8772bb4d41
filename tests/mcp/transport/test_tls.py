"""Encrypted connections: which certificates are trusted, and what a pin file changes."""

import asyncio
import datetime
import inspect
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pflow.core.errors import ServerError, ServerGone, UsageError
from pflow.mcp.transport.remote import connect_http
from tests.mcp.transport.kit import DEADLINE, Kit, echo

PEM = serialization.Encoding.PEM


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certify(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
    *,
    authority: bool = False,
    address: str = "127.0.0.1",
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    usage = dict.fromkeys(inspect.signature(x509.KeyUsage).parameters, False)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(x509.KeyUsage(**{**usage, "digital_signature": True, "key_cert_sign": authority}), critical=True)
    )
    return builder.sign(signer, hashes.SHA256())


class Keys:
    """Files of one server: its certificate, signed by an authority or by itself."""

    def __init__(self, folder: Path, *, address: str = "127.0.0.1") -> None:
        authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        files = {
            "authority": certify("authority", authority, "authority", authority, authority=True),
            "signed": certify("server", key, "authority", authority, address=address),
            "own": certify("server", key, "server", key, address=address),
        }
        folder.mkdir()
        self.paths = {}
        for label, certificate in files.items():
            path = folder / f"{label}.pem"
            path.write_bytes(certificate.public_bytes(PEM))
            self.paths[label] = str(path)
        self.key = folder / "key.pem"
        plain = serialization.NoEncryption()
        self.key.write_bytes(key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, plain))

    def server(self, label: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.paths[label], self.key)
        return context


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("tls") / "a")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("tls") / "b", address="127.0.0.9")


@pytest.mark.requirement("security:9.4-5")
@pytest.mark.parametrize(("label", "pin"), [("own", "own"), ("signed", "signed"), ("signed", "authority")])
def test_a_pinned_certificate_is_trusted(kit: Kit, era: str, keys: Keys, label: str, pin: str) -> None:
    assert kit.talk(era, "", echo, tls=keys.server(label), pin_file=keys.paths[pin]) == "hi"


@pytest.mark.requirement("security:9.4-5")
@pytest.mark.parametrize(
    ("label", "pin"), [("own", "own"), ("own", "authority"), ("signed", "own"), ("signed", "signed")]
)
def test_any_other_certificate_is_refused(kit: Kit, era: str, keys: Keys, others: Keys, label: str, pin: str) -> None:
    with pytest.raises(ServerError) as caught:
        kit.talk(era, "", echo, tls=keys.server(label), pin_file=others.paths[pin])
    assert caught.value.message.startswith(f"the certificate of `{kit.site.url}` cannot be trusted: ")
    assert kit.site.requests == []


def test_a_pin_holds_even_if_authorities_vouch_for_the_server(
    kit: Kit, keys: Keys, others: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", keys.paths["authority"])
    assert kit.talk("modern", "", echo, tls=keys.server("signed")) == "hi"
    with pytest.raises(ServerError):
        kit.talk("modern", "", echo, tls=keys.server("signed"), pin_file=others.paths["own"])


def test_an_unknown_authority_is_not_trusted(kit: Kit, era: str, keys: Keys) -> None:
    with pytest.raises(ServerError) as caught:
        kit.talk(era, "", echo, tls=keys.server("own"))
    assert "cannot be trusted" in caught.value.message
    assert kit.site.requests == []


def test_a_certificate_for_another_host_is_refused_though_pinned(kit: Kit, others: Keys) -> None:
    with pytest.raises(ServerError) as caught:
        kit.talk("modern", "", echo, tls=others.server("own"), pin_file=others.paths["own"])
    assert "IP address mismatch" in caught.value.message


def test_without_verification_any_certificate_will_do(kit: Kit, era: str, others: Keys) -> None:
    assert kit.talk(era, "", echo, tls=others.server("own"), insecure=True) == "hi"


def test_a_pin_is_kept_even_without_verification(kit: Kit, keys: Keys, others: Keys) -> None:
    assert kit.talk("modern", "", echo, tls=others.server("own"), insecure=True, pin_file=others.paths["own"]) == "hi"
    with pytest.raises(ServerError):
        kit.talk("modern", "", echo, tls=keys.server("own"), insecure=True, pin_file=others.paths["own"])


def test_credentials_are_not_sent_before_the_certificate_is_known(kit: Kit, keys: Keys) -> None:
    with pytest.raises(ServerError):
        kit.talk("modern", "", echo, tls=keys.server("own"), headers={"Authorization": "Bearer x"})
    assert kit.site.requests == []


@pytest.mark.usefixtures("kit")
def test_a_server_that_does_not_encrypt_is_told() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def main() -> None:
        async with asyncio.timeout(DEADLINE), await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await connect_http(f"https://127.0.0.1:{port}/mcp", timeout=DEADLINE)

    with pytest.raises(ServerGone) as caught:
        asyncio.run(main())
    assert "does not speak TLS as it should" in caught.value.message


@pytest.mark.parametrize("content", [None, b"", b"not a certificate", b"-----BEGIN CERTIFICATE-----\nxx\n"])
def test_a_pin_file_that_holds_no_certificate_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "pin.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        asyncio.run(connect_http("https://127.0.0.1:1/", pin_file=str(path)))
    assert "pin file" in caught.value.message
