"""Which names are names of secrets, wherever they stand."""

from __future__ import annotations

import pytest

from pflow.core.setting.secret_name import is_secret_name


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "GITHUB_PAT",
        "DB_PASSPHRASE",
        "DBPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "APIKEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "Authorization",
        "Proxy-Authorization",
        "Set-Cookie",
        "X-Auth-Token",
        "x-csrftoken",
        "x-hub-signature-256",
        "--api-key",
        "auth",
        "x-sessionkey",
        "x-userauth",
        "MAX_API_KEY",
        "PATS",
    ],
)
def test_secrets_are_known_by_their_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "PATH",
        "HOME",
        "GIT_AUTHOR_NAME",
        "KEYBOARD",
        "MONKEY",
        "MAX_TOKENS",
        "--max-tokens",
        "TOKENIZERS_PARALLELISM",
        "content-type",
        "XAUTHORITY",
    ],
)
def test_other_names_are_not_hidden(name: str) -> None:
    assert not is_secret_name(name)
