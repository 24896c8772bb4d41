"""A place where many machines keep and drive runs, as the settings `on.NAME.FIELD` describe it. Connects to nothing."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, UsageError
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.setting.option import FAMILIES
from pflow.core.suggest import did_you_mean

FAMILY = "on"
_SCHEMES = ("postgresql", "postgres")
_POSTGRES_PORT, _TEMPORAL_PORT = 5432, 7233


class Tls(Frozen):
    """How a connection is encrypted; the files are paths, "" for none."""

    mode: str
    """`verify`, `encrypt` (whoever answers) or `off`."""
    ca: str = ""
    cert: str = ""
    key: str = ""


class DatabaseAddress(Frozen):
    """Where a database is and who asks; the password stands elsewhere."""

    host: str
    port: int
    user: str
    database: str
    tls: Tls

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{self.user}@{host}:{self.port}/{self.database}"


class EngineAddress(Frozen):
    """Where Temporal is; the API key stands elsewhere."""

    host: str
    port: int
    namespace: str
    tls: Tls

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}/{self.namespace}"


class Place(Frozen):
    """A named place. Its parts are None where no setting names them.

    `journal_password`, `temporal_api_key` and `key` are names of credentials, never the credentials themselves.
    """

    name: str
    journal: DatabaseAddress | None
    journal_password: str
    pooler: bool
    temporal: EngineAddress | None
    temporal_api_key: str
    queue: str
    lease_seconds: int
    key: str = ""
    files: str = ""
    keep_days: int = 0

    @property
    def shared_files(self) -> Path | None:
        """The directory that its workers share, if they do."""
        return Path(self.files).expanduser() if self.files else None


def read_place(name: str, places: Mapping[str, Mapping[str, str | int | bool]]) -> Place:
    """The place of that name, from what is set of each; raises `NotFoundError`, and `UsageError` for wrong fields."""
    given = places.get(name)
    if given is None:
        known = ", ".join(f"`{one}`" for one in places)
        raise NotFoundError(
            f"there is no place `{shorten(name)}`",
            details={"available": list(places)},
            suggestions=[
                did_you_mean(name, places) or (f"there are: {known}" if known else "no place is set up yet"),
                Advice("name one with `{set_option}`", name="on.NAME.journal", value="postgresql://USER@HOST/DATABASE"),
            ],
        )
    fields = {field: given.get(field, option.default) for field, option in FAMILIES[FAMILY].items()}
    words = {field: str(value) for field, value in fields.items()}
    journal, temporal = words["journal"], words["temporal"]
    return Place(
        name=name,
        journal=_database(f"{FAMILY}.{name}.journal", journal, words) if journal else None,
        journal_password=words["journal_password"],
        pooler=bool(fields["pooler"]),
        temporal=_engine(f"{FAMILY}.{name}.temporal", temporal, words) if temporal else None,
        temporal_api_key=words["temporal_api_key"],
        queue=words["queue"],
        lease_seconds=max(int(fields["lease"]), 1),
        key=words["key"],
        files=words["files"],
        keep_days=max(int(fields["keep_days"]), 0),
    )


def journal_of(place: Place) -> DatabaseAddress:
    """The address of a place's journal; raises `UsageError` if it has none."""
    if place.journal is None:
        key = f"{FAMILY}.{place.name}.journal"
        raise UsageError(
            f"place `{place.name}` has no journal",
            suggestions=[Advice("name it with `{set_option}`", name=key, value="postgresql://USER@HOST/DATABASE")],
        )
    return place.journal


def _database(key: str, text: str, words: Mapping[str, str]) -> DatabaseAddress:
    try:
        url = urlsplit(text)
        port = url.port or _POSTGRES_PORT
    except ValueError:
        raise _not_an_address(key, text, "postgresql://USER@HOST:PORT/DATABASE") from None
    database = unquote(url.path.removeprefix("/"))
    user, host = unquote(url.username or ""), url.hostname or ""
    plain = f"{user}{host}{database}".isprintable() and "/" not in database
    if url.scheme not in _SCHEMES or not (user and host and database) or url.password is not None or not plain:
        raise _not_an_address(key, text, "postgresql://USER@HOST:PORT/DATABASE")
    if url.query or url.fragment:
        raise UsageError(
            f"`{key}` has more than an address: `?{shorten(url.query or url.fragment)}`",
            suggestions=[f"settings such as `{key}_tls` say the rest"],
        )
    return DatabaseAddress(host=host, port=port, user=user, database=database, tls=_tls("journal", host, words))


def _engine(key: str, text: str, words: Mapping[str, str]) -> EngineAddress:
    try:
        url = urlsplit(f"//{text}")
        host, port, namespace = url.hostname or "", url.port or _TEMPORAL_PORT, url.path.removeprefix("/") or "default"
    except ValueError:
        raise _not_an_address(key, text, "HOST:PORT/NAMESPACE") from None
    if not host or "/" in namespace or url.query or url.fragment or url.username is not None or "://" in text:
        raise _not_an_address(key, text, "HOST:PORT/NAMESPACE")
    return EngineAddress(host=host, port=port, namespace=namespace, tls=_tls("temporal", host, words))


def _tls(part: str, host: str, words: Mapping[str, str]) -> Tls:
    mode = words[f"{part}_tls"]
    if mode == "auto":
        mode = "off" if _is_this_machine(host) else "verify"
    return Tls(mode=mode, ca=words[f"{part}_ca"], cert=words[f"{part}_cert"], key=words[f"{part}_key"])


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _not_an_address(key: str, text: str, form: str) -> UsageError:
    shown = text if "@" not in text else f"…@{text.rpartition('@')[2]}"  # whatever stands before may be a password
    return UsageError(f"`{key}` is not an address: `{shorten(shown)}`", suggestions=[f"write it as `{form}`"])
