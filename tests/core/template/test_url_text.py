"""Values in addresses stay in the part they stand in, for every parser that reads the address."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pflow.core.errors import StepError
from pflow.core.template.template import compile_value
from tests.quick import examples

HOSTILE = [
    "", " ", "a b", "a/b", "/a", "a/", "a//b", "//evil.com", "///", ".", "..", "../x", "a/../b", "a/./b",
    "..\\x", "\\", "\\\\evil.com",
    "%2e%2e", "%2e%2e/", "%2f", "%", "%0d%0a", "\r\n", "\n", "\0", "\t", "a\r\nHost: evil.com", "?", "?a=b",
    "a?b", "#", "#a", "&a=b", "&", "=", "+", ";", "a;b", ":", ":80",
    "@", "@evil.com", "user@evil.com", "user:pw@evil.com", "evil.com", ".evil.com", "http://evil.com",
    "https://evil.com/", "javascript:alert(1)", "file:///etc/passwd",
    "127.0.0.1", "[::1]", "[::1]:80", "é", "日本", "😀", "ａ", "evil。com", "\u2044", "\u202e", "\ufeff", "'",
    '"', "<", ">", "{", "}", "|", "^", "`", "[", "]", "*", "$", "!", "(", ")", ",", "~", "-", "_",
    "${x}", "x" * 5000,
]  # fmt: skip
values = st.sampled_from(HOSTILE) | st.text() | st.lists(st.sampled_from(HOSTILE), max_size=3).map("".join)


def problems_of(text: str) -> list[tuple[str, str]]:
    return [(problem.message, problem.hint) for problem in compile_value(text, "url")[1]]


def render(text: str, **given_values: Any) -> str:
    compiled, problems = compile_value(text, "url")
    assert problems == []
    found = compiled.render(lambda reference: given_values[reference.root])
    assert isinstance(found, str)
    return found


def attempt(text: str, **given_values: Any) -> str | None:
    """The address, or None when the step fails."""
    try:
        return render(text, **given_values)
    except StepError:
        return None


def origin(url: str) -> tuple[Any, ...]:
    """Scheme, user, host and port as two parsers see them, which must be the same."""
    ours, other = urlsplit(url), httpx2.URL(url)
    seen = (ours.scheme, ours.username or "", (ours.hostname or ""), ours.port)
    assert seen == (other.scheme, other.username, other.host, other.port)
    return seen


def is_clean(url: str) -> bool:
    return url.isascii() and not any(char <= " " or char == "\x7f" for char in url)


@given(values)
@settings(max_examples=examples(400))
def test_a_value_in_the_path_stays_in_the_path(value: str) -> None:
    url = attempt("https://api.example.com:8443/v1/${x}/end?q=1#f", x=value)
    parts = value.replace("\\", "/").split("/")
    climbs = any(part in (".", "..") for part in parts) or "" in value.split("/")
    if url is None:
        assert climbs
        return
    assert not climbs
    assert is_clean(url)
    split = urlsplit(url)
    assert origin(url) == ("https", "", "api.example.com", 8443)
    assert (split.query, split.fragment) == ("q=1", "f")
    assert unquote(split.path) == f"/v1/{value}/end"
    assert httpx2.URL(url).path == f"/v1/{value}/end"


@given(values)
@settings(max_examples=examples(300))
def test_a_value_in_the_query_stays_one_value(value: str) -> None:
    url = render("https://h.example/p?a=1&b=${x}&c=2#f", x=value)
    assert is_clean(url)
    assert origin(url) == ("https", "", "h.example", None)
    assert parse_qsl(urlsplit(url).query, keep_blank_values=True) == [("a", "1"), ("b", value), ("c", "2")]
    assert httpx2.URL(url).params.multi_items() == [("a", "1"), ("b", value), ("c", "2")]
    assert (urlsplit(url).path, urlsplit(url).fragment) == ("/p", "f")


@given(values)
@settings(max_examples=examples(200))
def test_a_value_in_the_name_of_a_parameter_stays_a_name(value: str) -> None:
    assume(value)
    url = render("https://h.example/?${x}=1", x=value)
    assert is_clean(url)
    assert parse_qsl(urlsplit(url).query) == [(value, "1")]


@given(values)
@settings(max_examples=examples(200))
def test_a_value_in_the_fragment_stays_there(value: str) -> None:
    url = render("https://h.example/p?q=1#a-${x}", x=value)
    assert is_clean(url)
    split = urlsplit(url)
    assert (split.path, split.query, unquote(split.fragment)) == ("/p", "q=1", f"a-{value}")


@given(values)
@settings(max_examples=examples(400))
def test_a_value_in_the_host_is_a_host_or_refused(value: str) -> None:
    for form, before, after in [("https://${x}/p", "", ""), ("https://${x}.example.com/p", "", ".example.com")]:
        url = attempt(form, x=value)
        if url is None:
            continue
        assert url == f"https://{value}{after}/p"
        _, user, host, _ = origin(url)
        assert user == ""
        assert host.startswith(before) and host.endswith(after)
        assert urlsplit(url).path == "/p"


@given(values)
@settings(max_examples=examples(300))
def test_no_value_after_a_host_changes_it(value: str) -> None:
    for form in ("https://api.example.com${x}", "https://api.example.com${x}?q=1", "${base}${x}", "${base}${x}#f"):
        url = attempt(form, x=value, base="https://api.example.com")
        if url is not None:
            assert origin(url)[2] == "api.example.com"


@given(values, values)
@settings(max_examples=examples(300))
def test_neighbouring_values_make_nothing_new(one: str, two: str) -> None:
    url = attempt("https://h.example/a/${x}${y}/b", x=one, y=two)
    if url is not None:
        assert origin(url) == ("https", "", "h.example", None)
        path = urlsplit(url).path
        assert unquote(path) == f"/a/{one}{two}/b"
        assert not {"", ".", ".."} & set(path.split("/")[1:])


@pytest.mark.parametrize(
    ("text", "value", "url"),
    [
        ("https://h/a/${x}", "b c/d?e#f&g=h+i", "https://h/a/b%20c/d%3Fe%23f%26g%3Dh%2Bi"),
        ("https://h/a/${x}", "é;v@w:z\\", "https://h/a/%C3%A9%3Bv%40w%3Az%5C"),
        ("https://h/a/${x}", "%2e%2e/%0d%0a", "https://h/a/%252e%252e/%250d%250a"),
        ("https://h/a/${x}", "\r\n\0", "https://h/a/%0D%0A%00"),
        ("https://h/a/${x}", "-._~", "https://h/a/-._~"),
        ("https://h/a/${x}", "", "https://h/a/"),
        ("https://h/a/${x}", "b/", "https://h/a/b/"),
        ("https://h/a/...${x}", "", "https://h/a/..."),
        ("https://h/a/../${x}", "b", "https://h/a/../b"),
        ("https://h//${x}", "b", "https://h//b"),
        ("https://h?q=${x}", "a&b=c/d +é", "https://h?q=a%26b%3Dc%2Fd%20%2B%C3%A9"),
        ("https://h/?q=${x}", ["a", 1], "https://h/?q=%5B%22a%22%2C1%5D"),
        ("https://h/${x}", 7, "https://h/7"),
        ("https://h/${x}", True, "https://h/true"),
        ("https://h/#${x}", "a/b#c", "https://h/#a%2Fb%23c"),
        ("https://${x}/p", "api.example.com:8080", "https://api.example.com:8080/p"),
        ("https://${x}/p", "[::1]:80", "https://[::1]:80/p"),
        ("https://${x}", "my_service", "https://my_service"),
        ("https://eu-${x}.example.com/", "west", "https://eu-west.example.com/"),
        ("https://api.${x}/", "example.com", "https://api.example.com/"),
        ("https://db${x}/", "3", "https://db3/"),
        ("https://h:${x}/p", 8080, "https://h:8080/p"),
        ("https://h${x}", "/p/q", "https://h/p/q"),
        ("${x}", "https://h/p?q=1#f", "https://h/p?q=1#f"),
        ("${x}", " https://h/p\n", "https://h/p"),
        ("  ${x}/y", "HTTP://h", "HTTP://h/y"),
        ("${x}:8080/p", "http://localhost", "http://localhost:8080/p"),
        ("${x}/a?b=c", "https://h/v1", "https://h/v1/a?b=c"),
        ("${x}@v2/f", "https://h/pkg", "https://h/pkg@v2/f"),
        ("HTTPS://h/${x}", "a", "HTTPS://h/a"),
        ("https://u:p@h/${x}", "a", "https://u:p@h/a"),
        ("https://h/a@b/${x}", "c", "https://h/a@b/c"),
        ("https://h/$${a}/${x}", "c", "https://h/${a}/c"),
    ],
)
def test_a_value_is_encoded_for_its_place(text: str, value: object, url: str) -> None:
    assert render(text, x=value) == url


def test_a_base_decides_where_the_rest_stands() -> None:
    assert render("${b}/u/${x}", b="https://h/v1", x="a/b c") == "https://h/v1/u/a/b%20c"
    assert render("${b}${x}", b="https://h/v1/", x="a/b") == "https://h/v1/a/b"
    assert render("${b}&n=${x}", b="https://h/?m=1", x="a/b&c") == "https://h/?m=1&n=a%2Fb%26c"
    assert render("${b}${x}", b="https://h/#", x="a/b") == "https://h/#a%2Fb"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("https://h/a/${x}", ".."), ("https://h/a/${x}", "b/../c"), ("https://h/a/${x}", "."),
        ("https://h/a/${x}", "/b"), ("https://h/a/${x}", "b//c"), ("https://h/a/${x}", "..\\b"),
        ("https://h/a/${x}/b", ""), ("https://h/a/.${x}/b", "."), ("https://h/a/${x}./b", "."),
        ("https://h/a/.${x}./b", ""), ("https://h/a/%2e${x}", "."), ("https://h/a/%2E${x}", "."),
        ("https://h/${x};v=1", ".."),
        ("https://h/a/${x}/b", "c/"), ("https://h${x}", "//evil.com"), ("https://h${x}", "/../a"),
        ("https://h/a/${x}", "\ud800"), ("https://h?q=${x}", "\ud800"),
        ("https://api.example.com${x}", "pany"), ("https://api.example.com${x}/p", "0:0"),
        ("https://h${x}", ".evil.com"), ("https://h${x}", "@evil.com"), ("https://h${x}", ":pw@evil.com"),
        ("https://api-${x}/", "a.evil.com"), ("https://${x}/", ""), ("https://${x}/", "a b"),
        ("https://${x}/", "a@b"),
        ("https://${x}/", "a/b"), ("https://${x}/", "a?b"), ("https://${x}/", "a#b"),
        ("https://${x}/", "a\\b"), ("https://${x}/", "a\r\nb"), ("https://${x}/", "h\n"),
        ("https://${x}/", "é.com"), ("https://${x}/", "http://a"),
        ("https://${x}/", "-a"), ("https://${x}/", "a..b"), ("https://${x}/", ".a"),
        ("https://${x}/", "a:99999999"), ("https://${x}/", "a:b"),
        ("https://${x}.example.com/", "evil.com:80"), ("https://${x}.example.com/", "evil.com/"),
        ("https://h:${x}/", "80a"), ("https://h:${x}/", ""), ("https://h:${x}/", "/p"),
        ("https://h.${x}/", "/p"), ("${x}", "ftp://h"), ("${x}", "file:///etc/passwd"),
        ("${x}", "javascript:alert(1)"), ("${x}", "h/p"), ("${x}", ""), ("${x}", "//h"),
        ("${x}", "https://"), ("${x}", "https://h\r\nX: y"), ("${x}", "https://h/a b"),
        ("${x}", "https://h/\0"), ("${x}/p", "h"), ("${x}@evil.com/", "https://h"), ("${x}", None),
        ("${x}", {"a": 1}),
    ],
)  # fmt: skip
def test_a_value_that_would_lead_elsewhere_fails_the_step(text: str, value: object) -> None:
    with pytest.raises(StepError) as caught:
        render(text, x=value)
    assert "${x}" in caught.value.message or "user name" in caught.value.message
    assert not value or len(str(value)) < 3 or str(value) not in caught.value.message


def test_the_errors_say_what_to_do() -> None:
    def error_of(text: str, value: str) -> tuple[str, tuple[str, ...]]:
        with pytest.raises(StepError) as caught:
            render(text, x=value)
        return caught.value.message, caught.value.suggestions

    assert error_of("${x}/p", "h") == (
        "the value of `${x}` does not begin an address",
        ("it must begin with `http://` or `https://` and hold no spaces",),
    )
    assert error_of("https://h/${x}", "..") == (
        "the value of `${x}` would lead elsewhere: a path takes no `.`, `..` or empty part",
        ("check the value before this step, or pass it in `params`",),
    )
    assert error_of("https://${x}/", "a b") == (
        "the value of `${x}` is not a valid host name there",
        ("give a name such as `api.example.com`, with `:8080` when there is a port",),
    )


BEGIN = "begin it with `https://`, or with one template that holds the whole address up to the path"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("${x}://h/p", "`${x}` stands in the scheme of the address", BEGIN),
        ("http${x}://h/p", "`${x}` stands in the scheme of the address", BEGIN),
        ("https:${x}", "`${x}` stands in the scheme of the address", BEGIN),
        ("h/${x}", "`${x}` stands in the scheme of the address", BEGIN),
        ("ftp://h/${x}", "`ftp://h/` is not a web address", "begin it with `https://`"),
        ("https://${x}@h/", "`${x}` stands in the user name of the address", "use the `auth` parameter"),
        ("https://u:${x}@h/", "`${x}` stands in the user name of the address", "use the `auth` parameter"),
    ],
)
def test_a_template_that_cannot_stand_there_is_a_problem(text: str, message: str, hint: str) -> None:
    assert problems_of(text) == [(message, hint)]
    with pytest.raises(StepError):
        compile_value(text, "url")[0].render(lambda reference: "a")


def test_every_template_in_the_user_name_is_found() -> None:
    assert len(problems_of("https://${x}:${y}@${z}/")) == 2


def test_an_address_without_templates_stays_as_it_is() -> None:
    assert render("gopher://u:p@h/../a b") == "gopher://u:p@h/../a b"
    assert render("https://h/$${a}") == "https://h/${a}"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["/${x}", "${x}", "?q=${x}", "#${x}", "/a${x}.", ".${x}"])
def test_thousands_of_templates_are_filled(form: str) -> None:
    assert render("https://h" + form * 20_000, x="1") == "https://h" + form.replace("${x}", "1") * 20_000
