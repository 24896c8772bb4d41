"""Values in shell commands arrive byte for byte and never run, whatever they hold and wherever they stand."""

import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.errors import StepError
from pflow.core.template.env_name import RESERVED_ENV, check_env_name
from pflow.core.template.shell_text import ShellCommand
from pflow.core.template.template import compile_value, split_text
from tests.quick import examples

SHELLS = ["/bin/sh"] + [path for name in ("bash", "busybox") if (path := shutil.which(name))]
SEP = "<sep-5f1c>"
COUNT = 10_000
BATCH = 1_000
GROUP = 250


def compiled(text: str) -> Any:
    """The command, which has no problems."""
    command, problems = compile_value(text, "shell")
    assert problems == []
    return command


def render(text: str, **values: Any) -> Any:
    return compiled(text).render(lambda reference: values[reference.root])


def problems_of(text: str) -> list[Any]:
    return [(problem.message, problem.hint) for problem in compile_value(text, "shell")[1]]


def run(shell: str, command: ShellCommand, folder: Path) -> bytes:
    """What the command writes; it must end well and say nothing else."""
    script = folder.parent / "script"
    script.write_text(command.text, newline="")
    environment = {b"PATH": b"/usr/bin:/bin", **{k.encode(): v.encode() for k, v in command.env.items()}}
    argv = [shell, "sh", str(script)] if shell.endswith("busybox") else [shell, str(script)]
    done = subprocess.run(argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.stderr[:500] == b""
    return done.stdout


# What could run: each would leave a file behind, in the folder of the command or beside it.
PAYLOADS = [
    "touch canary", "$(touch canary)", "`touch canary`", "; touch canary;", "| touch canary",
    "&& touch canary", "|| touch canary", "& touch canary &", "\ntouch canary\n", ">canary", ">>canary",
    "2>canary", "<(touch canary)", ">(touch canary)", "${x:=$(touch canary)}", "$((a[$(touch canary)]))",
    "a[$(touch canary)]=1", "';touch canary;'", '";touch canary;"', "'$(touch canary)'", '"$(touch canary)"',
    "\\$(touch canary)", "\\`touch canary\\`", "\nEOF\ntouch canary\n", "EOF\ntouch canary\n",
    "\tEOF\ntouch canary", ") touch canary;; esac;", "}; touch canary; {", "))); touch canary; (((",
    "$'\\n'touch canary", "eval touch canary", "() { :; }; touch canary", "-exec touch canary ;",
    "--checkpoint-action=exec=touch canary", "#\ntouch canary", "\r\ntouch canary\r\n",
]  # fmt: skip
PLAIN = [
    "", " ", "  two  blanks  ", "\t", "\n", "\n\n", "trailing\n", "trailing\n\n", "\r\n", "*", "?", "[a-z]*",
    "/*", "~", "~root", "~/x", "-", "--", "-n", "-e", "-rf", "--help", "'", '"', "''", '""', "'\"'", "\\",
    "\\\\", "\\n", "\\0", "\\'", '\\"', "a\\", "$", "$$", "$HOME", "${HOME}", "${secret.X}", "$1", "$@",
    "$*", "$?", "!", "!!", "!$", "#", "# x", "%", "%s", "%n", "%d%s", "{a,b}", "{1..3}", "(", ")", "((",
    "))", "[", "]", "[[", "]]", "{", "}", "=", "a=b", "+", "^", "@", "EOF", "\nEOF\n", "END", "if", "then",
    "fi", "done", "esac", "in", "case", "é", "日本語", "😀", "e\u0301", "\u202e", "\u200b", "\ufeff", "\u2028",
    "Ё", "\u0081\u0082\u0088", "Á\u0085", "\x01", "\x07", "\x08", "\x1b[31m", "\x7f", "\x80",
    "".join(map(chr, range(1, 128))), "".join(map(chr, range(128, 512))), "x" * 3000, "'" * 300, '"' * 301,
    "\\" * 301, "$" * 99, "`" * 99, "\n" * 99, "a b\tc\nd", "PFLOW_1", "${PFLOW_1}", "$PFLOW_1",
]  # fmt: skip


def hostile_values() -> list[str]:
    """Distinct values, the same ones every time: the lists above, and pieces of them put together at random."""
    source = random.Random(20)
    values = dict.fromkeys(PAYLOADS + PLAIN)
    pieces = [*PAYLOADS, *(piece for piece in PLAIN if len(piece) < 40)]
    while len(values) < COUNT:
        values["".join(source.choices(pieces, k=source.randint(1, 4)))] = None
    return list(values)


VALUES = hostile_values()

# A command for each value, with `@` for the template, and what stands around the value in what it prints.
EACH: dict[str, str | tuple[str, str, str]] = {
    "unquoted": "printf '%s\\0' @",
    "double quotes": "printf '%s\\0' \"@\"",
    "single quotes": "printf '%s\\0' '@'",
    "text in double quotes": ('printf \'%s\\0\' "it\'s @ \\"here\\" \\$HOME"', "it's ", ' "here" $HOME'),
    "text in single quotes": ("printf '%s\\0' '\"$(x)\" `y` \\@ # b'", '"$(x)" `y` \\', " # b"),
    "within a word": ("printf '%s\\0' a@b", "a", "b"),
    "between quotes": ("printf '%s\\0' 'a '@\" b\"", "a ", " b"),
    "between escapes": ("printf '%s\\0' \\'\\\\@\\\"\\$", "'\\", '"$'),
    "beside variables": ("y=1; printf '%s\\0' \"$y@$${y}\"$y", "1", "11"),
    "assignment": "x=@; printf '%s\\0' \"$x\"",
    "text in an assignment": ('x=a:@":b"; printf \'%s\\0\' "$x"', "a:", ":b"),
    "quoted assignment": "x='@' y=\"@\"; printf '%s\\0' \"$y\"",
    "export": "export X=@; printf '%s\\0' \"$X\"",
    "local": "f() { local x=@; printf '%s\\0' \"$x\"; }; f",
    "argument of a function": "f() { printf '%s\\0' \"$1\"; }; f @ b",
    "positional": "set -- @ b; printf '%s\\0' \"$1\"",
    "case": "case @ in @) printf '%s\\0' @;; *) printf 'no\\0';; esac",
    "quoted case": "case \"@\" in (b|'@') printf '%s\\0' '@' ;; esac",
    "case pattern": "case x in @y|@*z) ;; x) printf '%s\\0' @\nesac",
    "loop": "for x in @; do printf '%s\\0' \"$x\"; done",
    "test": "if [ @ = '@' ]; then printf '%s\\0' @; else printf 'no\\0'; fi",
    "braces": "{ ! false && printf '%s\\0' @; } || { echo '@'; }",
    "comment": "printf '%s\\0' @ # it's \"@ `(\n",
    "continued line": "printf '%s\\0' \\\n  @",
    "after an expansion": "x=; printf '%s\\0' \"$${x:-}@\"$${x#'}'}",
}

# A command for many values, `@…@` repeated for each: subshells cost too much to have one per value.
MANY: dict[str, str | tuple[str, ...]] = {
    "subshell": "(printf '%s\\0'{ @})",
    "pipeline": "printf '%s\\0'{ @} | cat | cat",
    "substitution": ": $(printf '%s\\0'{ @} >&3)",
    "double quotes in a substitution": ": $(printf '%s\\0'{ \"@\"} >&3)",
    "single quotes in a substitution": ": $(printf '%s\\0'{ '@'} >&3)",
    "substitution in double quotes": ": \"$(printf '%s\\0'{ @} >&3)\"",
    "double quotes in a substitution in double quotes": ': "a $(printf \'%s\\0\'{ "@"} >&3) b"',
    "single quotes in a substitution in double quotes": ": \"$(printf '%s\\0'{ '@'} >&3)\"",
    "case in a substitution": ": $(case x in x) printf '%s\\0'{ @} >&3;; esac)",
    "substitutions in each other": ': $(: "$(: $(printf \'%s\\0\'{ "@"} >&3))")',
    "backquotes": ": `printf '%s\\0'{ @} >&3`",
    "double quotes in backquotes": ": `printf '%s\\0'{ \"@\"} >&3`",
    "single quotes in backquotes": ": `printf '%s\\0'{ '@'} >&3`",
    "backquotes in double quotes": ": \"`printf '%s\\0'{ @} >&3`\"",
    "escaped quotes in backquotes in double quotes": ': "`printf \'%s\\0\'{ \\"@\\"} >&3`"',
    "single quotes in backquotes in double quotes": ": \"`printf '%s\\0'{ '@'} >&3`\"",
    "backquotes in each other": ": `: \\`printf '%s\\\\0'{ @} >&3\\``",
    "substitution in backquotes": ": `: $(printf '%s\\0'{ '@'} >&3)`",
    "backquotes in a substitution": ": $(: \"`printf '%s\\0'{ @} >&3`\")",
    "substitution in a here-document": ": <<EOF\n$(printf '%s\\0'{ @} >&3)\nEOF",
    "backquotes in a here-document": ": <<EOF\n`printf '%s\\0'{ \"@\"} >&3`\nEOF",
    "here-document": ("cat <<EOF\n{@" + SEP + "}\nEOF", SEP),
    "quotes in a here-document": ("cat <<EOF\n{'\"@\\\\" + SEP + "}\nEOF", "\\" + SEP, "'\""),
    "here-document without tabs": ("cat <<-EOF | cat\n\t{@" + SEP + "}\n\tEOF", SEP),
    "here-document in a substitution": ("x=$(cat <<EOF\n{@" + SEP + "}\nEOF\n); printf '%s\\n' \"$x\"", SEP),
    "output of a substitution": ("x=$(printf '%s" + SEP + "'{ @}); printf '%s\\n' \"$x\"", SEP),
    "output of a quoted substitution": ("printf '%s\\n' \"$(printf '%s" + SEP + '\'{ "@"})"', SEP),
    "output of backquotes": ("printf '%s\\n' \"`printf '%s" + SEP + "'{ '@'}`\"", SEP),
}


def each(form: str, references: list[str]) -> str:
    return "\n".join(form.replace("@", reference) for reference in references)


def many(form: str, references: list[str]) -> str:
    before, repeated, after = re.split(r"\{([^{}]*@[^{}]*)\}", form)
    groups = [references[start : start + GROUP] for start in range(0, len(references), GROUP)]
    return "exec 3>&1\n" + "\n".join(
        before + "".join(repeated.replace("@", reference) for reference in group) + after for group in groups
    )


def arrivals(form: str, fill: Callable[..., Any], values: list[str], folder: Path) -> Iterator[tuple[list[str], bytes]]:
    """What each shell printed for the values, in order. A POSIX shell gets all of them, others a quarter."""
    command = compiled(fill(form, [f"${{v{index}}}" for index in range(BATCH)]))
    for shell in SHELLS:
        for start in range(0, len(values) if shell == "/bin/sh" else len(values) // 4, BATCH):
            batch = values[start : start + BATCH]
            found = command.render(lambda reference, batch=batch: batch[int(reference.root[1:])])
            yield batch, run(shell, found, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where commands run; nothing may appear in it."""
    folder = tmp_path / "inner" / "folder"
    folder.mkdir(parents=True)
    yield folder
    assert list(folder.iterdir()) == []
    assert {path.name for path in folder.parent.iterdir()} <= {"folder", "script"}


def test_there_are_ten_thousand_values() -> None:
    assert len(set(VALUES)) == COUNT
    assert COUNT % BATCH == 0


@pytest.mark.parametrize("context", EACH)
def test_every_value_arrives_whole_in(context: str, folder: Path) -> None:
    given_form = EACH[context]
    form, before, after = given_form if isinstance(given_form, tuple) else (given_form, "", "")
    for batch, printed in arrivals(form, each, VALUES, folder):
        assert printed.decode().split("\0") == [*(before + value + after for value in batch), ""]


@pytest.mark.parametrize("context", MANY)
def test_every_value_arrives_whole_through(context: str, folder: Path) -> None:
    given_form = MANY[context]
    form, end, before = (*given_form, "")[:3] if isinstance(given_form, tuple) else (given_form, "\0", "")
    for batch, printed in arrivals(form, many, VALUES, folder):
        parts = printed.decode().split(end)
        if end != "\0":  # each group ends with a line break that is not part of a value
            parts = [part.removeprefix("\n") if i % GROUP == 0 and i else part for i, part in enumerate(parts)]
        assert parts == [*(before + value for value in batch), ""]


def test_the_values_would_run_if_they_were_text(folder: Path) -> None:
    for shell in SHELLS:
        ran = 0
        for payload in PAYLOADS:
            subprocess.run(
                [shell, "-c", f'printf "%s" "{payload}"'],
                cwd=folder,
                capture_output=True,
                env={"PATH": "/usr/bin:/bin"},
            )
            if (folder / "canary").exists():
                ran += 1
                (folder / "canary").unlink()
        assert ran >= 5


@pytest.mark.parametrize("shell", SHELLS)
def test_a_substitution_takes_the_line_breaks_at_the_end_and_nothing_else(shell: str, folder: Path) -> None:
    values = [*PAYLOADS, *PLAIN]
    text = "\n".join(
        f"printf '%s\\0' \"$(printf %s ${{v{i}}})\" \"`printf %s '${{v{i}}}'`\"" for i in range(len(values))
    )
    command = compiled(text).render(lambda reference: values[int(reference.root[1:])])
    expected = [value.rstrip("\n") for value in values for _ in range(2)]
    assert run(shell, command, folder).decode().split("\0") == [*expected, ""]


@pytest.mark.parametrize("shell", SHELLS)
def test_long_values_arrive_whole(shell: str, folder: Path) -> None:
    values = {"a": "'\"$(touch canary)`\\\n" * 5_999, "b": "é" * 60_000, "c": " " * 120_000}
    text = "printf '%s\\0' ${a} \"${b}\" '${c}'; cat <<E\n${a}\nE\n"
    printed = run(shell, render(text, **values), folder).decode()
    assert printed == "".join(value + "\0" for value in values.values()) + values["a"] + "\n"


@st.composite
def nested(draw: Callable[..., Any], depth: int = 3) -> tuple[str, str]:
    """Shell text that prints, and what it prints: templates in quotes and substitutions inside each other."""
    kind = draw(
        st.sampled_from(
            ["bare", "double", "single", "sub", "quoted sub", "sub here", "pair"]
            if depth
            else ["bare", "double", "single"]
        )
    )
    index = draw(st.integers(0, len(PAYLOADS) + len(PLAIN) - 1))
    value = (PAYLOADS + PLAIN)[index]
    slot = f"${{v{index}}}"
    if kind == "bare":
        return slot, value
    if kind == "double":
        return f'"<{slot}\\""', f'<{value}"'
    if kind == "single":
        return f"'{slot}\"'", f'{value}"'
    text, inner = draw(nested(depth=depth - 1))
    stripped = inner.rstrip("\n")
    if kind == "sub":
        return f'"$(printf %s {text})"', stripped
    if kind == "quoted sub":
        return f"\"[$(printf '%s]' {text} # it's\n)'\"", f"[{inner}]'"
    if kind == "sub here":
        return f'"$(cat <<E\n{slot}"\'|\nE\nprintf %s {text})"', f"{value}\"'|\n{inner}".rstrip("\n")
    return f"{slot}'-'{text}", f"{value}-{inner}"


@given(st.lists(nested(), min_size=10, max_size=20))
@settings(max_examples=examples(12))
def test_quotes_and_substitutions_nest(tmp_path_factory: pytest.TempPathFactory, cases: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("nested") / "folder"
    folder.mkdir()
    values = PAYLOADS + PLAIN
    command = compiled("\n".join(f"printf '%s\\0' {text}" for text, _ in cases) + "\n")
    rendered = command.render(lambda reference: values[int(reference.root[1:])])
    if isinstance(rendered, ShellCommand):
        for shell in SHELLS[:2]:
            assert run(shell, rendered, folder).decode().split("\0") == [*(printed for _, printed in cases), ""]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ("echo ${x}", 'echo "${PFLOW_1}"'),
        ('echo "${x}"', 'echo "${PFLOW_1}"'),
        ("echo '${x}'", "echo ''\"${PFLOW_1}\"''"),
        ("cat <<E\n${x}\nE", "cat <<E\n${PFLOW_1}\nE"),
        ("echo ${x} ${y.z[0]} ${x}", 'echo "${PFLOW_1}" "${PFLOW_2}" "${PFLOW_1}"'),
        ("echo $HOME $${HOME} ${x}", 'echo $HOME ${HOME} "${PFLOW_1}"'),
        ("echo ${y} # ${x}", 'echo "${PFLOW_1}" # ${x}'),
        ("# ${x:-a\nb}\necho ${y}", '# ${x:-a b}\necho "${PFLOW_1}"'),
        ("a > ${x} 2>> '${x}.log' < ${y}", 'a > "${PFLOW_1}" 2>> \'\'"${PFLOW_1}"\'.log\' < "${PFLOW_2}"'),
    ],
)
def test_a_template_becomes_a_quoted_variable(written: str, run: str) -> None:
    assert compiled(written).render(lambda reference: "v").text == run


def test_a_command_without_templates_stays_as_it_is() -> None:
    assert render("echo $((1 + 1)) 'unbalanced") == "echo $((1 + 1)) 'unbalanced"
    assert render("# ${x}\ntrue") == "# ${x}\ntrue"
    assert render("echo $${HOME}") == "echo ${HOME}"


def test_values_that_are_no_text_go_in_as_json() -> None:
    command = render("echo ${a} ${b} ${c}", a={"k": [1, "é"]}, b=None, c=7)
    assert command.env == {"PFLOW_1": '{"k":[1,"é"]}', "PFLOW_2": "null", "PFLOW_3": "7"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a\0b", "the value of `${x}` holds a NUL character, which no command line can carry"),
        ("x" * 120_001, "the value of `${x}` has 120,001 bytes; a command takes up to 120,000 in one value"),
        ("é" * 60_001, "the value of `${x}` has 120,002 bytes; a command takes up to 120,000 in one value"),
    ],
)
def test_a_value_that_no_command_can_carry_fails_the_step(value: str, message: str) -> None:
    with pytest.raises(StepError) as caught:
        render("echo ${x}", x=value)
    assert caught.value.message == message
    assert caught.value.suggestions == ("pass it as `stdin`",)


def test_a_value_that_is_no_unicode_fails_the_step() -> None:
    with pytest.raises(StepError, match="is not valid Unicode"):
        render("echo ${x}", x="\ud800")


LIST = "write `command` as a list of arguments, which runs without a shell"
ENV = f'{LIST}; or pass it as `stdin`, or in `env` and write "$NAME"'


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "echo $((1 + ${x}))",
            "`${x}` stands in arithmetic, where its value would be evaluated",
            "compute it in a `code` step",
        ),
        ("((${x}))", "`${x}` stands in arithmetic, where its value would be evaluated", "compute it in a `code` step"),
        ("[[ ${x} -eq 1 ]]", "`${x}` stands in `[[ … ]]`, which can evaluate its value", "write `[ … ]`"),
        (
            "cat <<'E'\n${x}\nE",
            "`${x}` stands in a here-document with quotes around its delimiter",
            "write `<<EOF`, or use `stdin`",
        ),
        ("echo $'${x}'", "`${x}` stands in `$'…'`, where nothing is filled in", "write plain quotes"),
        ("echo $${A:-${x}}", "`${x}` stands inside another `${…}`", ENV),
        (
            "eval echo ${x}",
            "`${x}` would become code that `eval` runs",
            f"{LIST}; or leave `eval` out; without it, the value is data",
        ),
        (
            "sh -c 'echo ${x}'",
            "`${x}` would become code that `sh` runs",
            f"{LIST}; or put the script in single quotes and pass the value after it: `sh -c 'echo \"$1\"' sh …`",
        ),
        (
            ". ${x}",
            "`${x}` would become code that `.` runs",
            f"{LIST}; or write out what runs; values can only be its arguments",
        ),
        ("A${x}=1 cmd", "`${x}` would name a variable", "write the name out; only what is assigned can be a value"),
        (
            "PATH=${x} cmd",
            "`${x}` would be assigned, but `PATH` is reserved: it decides what runs",
            "write that value out",
        ),
        (
            "sh <<E\necho ${x}\nE",
            "`${x}` would become part of a script that a program reads",
            f"{LIST}; or write the script out and pass the value as an argument",
        ),
        (
            "echo \\${x}",
            "`${x}` follows a backslash",
            "for a shell variable write `$NAME` or `$${NAME}`; else drop the backslash",
        ),
        (
            "cat <<${x}\n",
            "cannot tell how the shell would read `${x}`: the delimiter of a here-document must be written out",
            ENV,
        ),
        ("echo 'a ${x}", "cannot tell how the shell would read `${x}`: a single quote has no end", ENV),
        ('echo "a ${x}', "cannot tell how the shell would read `${x}`: a double quote has no end", ENV),
        ("echo `${x}", "cannot tell how the shell would read `${x}`: a backquote has no end", ENV),
        ("echo $(echo ${x}", "cannot tell how the shell would read `${x}`: `)` is missing", ENV),
        ("cat <<E\n${x}\n", "cannot tell how the shell would read `${x}`: a here-document has no end", ENV),
        ("echo ${x} )", "cannot tell how the shell would read `${x}`: a `)` has no `(`", ENV),
    ],
)
def test_a_template_that_would_be_evaluated_is_a_problem_with_its_fix(text: str, message: str, hint: str) -> None:
    assert problems_of(text) == [(message, hint)]


@pytest.mark.parametrize(
    "text",
    [
        # evaluated by the shell
        "echo $(( ${x} ))", 'echo "$((${x} + 1))"', "cat <<E\n$((${x}))\nE",
        "for ((i=${x}; i<3; i++)); do :; done",
        "echo $[${x}]", "let a=${x}", "a[${x}]=1", "declare -i n; n=${x}", "typeset ${x}", "echo $${x[${y}]}",
        'echo "$${a:=${x}}"',
        "cat <<E\n$${a:-${x}}\nE", "[ -v ${x} ]", "test ${x} ${y}", "printf -v ${x} a", "printf ${x} ${y}",
        "read ${x}", "unset ${x}",
        "export ${x}", "export ${x}=1", "export A${x}=1", "readonly ${x}", "local ${x}", "getopts ab ${x}",
        "for ${x} in a; do :; done",
        "alias a=${x}", "trap ${x} EXIT", "trap 'rm ${x}' EXIT", "function ${x} { :; }",
        # code for a shell
        "eval ${x}", 'eval "echo ${x}"', "eval 'echo ${x}'", "command eval ${x}", "A=1 eval ${x}",
        "! eval ${x}", "if eval ${x}; then :; fi",
        "{ eval ${x}; }", "(eval ${x})", "$(eval ${x})", "`eval ${x}`", "a && eval ${x}", "a | eval ${x}",
        "eval \"$(echo ${x})\"",
        "eval `echo ${x}`", "case a in a) eval ${x};; esac", "f() { eval ${x}; }",
        "while :; do eval ${x}; done", '"eval" ${x}', "e\\val ${x}",
        "bash -c ${x}", 'bash -c "echo ${x}"', "bash -ec 'echo ${x}'", "bash -e -c 'echo ${x}'",
        "bash -c -e 'echo ${x}'", "sh -o errexit -c '${x}'",
        "bash -euo pipefail -c '${x}'", "bash -ceuo pipefail '${x}'", "/bin/sh -c '${x}'",
        "env A=1 sh -c '${x}'", "sudo -u me sh -c '${x}'", "exec sh -c '${x}'",
        "timeout 5 sh -c '${x}'", "find . -exec sh -c 'a ${x}' \\;", "xargs -I{} sh -c 'a ${x}'",
        "docker exec c bash -c '${x}'", "nohup sh -c '${x}' &",
        "exec ${x}", "${x} --flag",
        "sh ${x}", "bash ${x} ${y}", "sh -${x} a", "sh -s ${x}", "source ${x}", ". ./${x}", "echo ${x} | sh",
        "echo ${x} | tee a | bash -s", "{ echo ${x}; } | sh",
        "for i in a; do echo ${x}; done | sh", "cat <<E | sh\n${x}\nE", "cat <<E |\n${x}\nE\nsh",
        "sh <<< ${x}", "sh < ${x}", "bash -s <<E\n${x}\nE", "echo ${x} | sudo sh",
        "A=1 sh <<E\n${x}\nE", "ssh host rm ${x}", "ssh -p 22 host 'rm ${x}'", "su me -c 'rm ${x}'",
        "watch ls ${x}", "parallel 'rm ${x}'", "flock f -c 'rm ${x}'",
        # code for another language
        "python3 -c 'print(${x})'", "python -c \"${x}\"", "python3.11 -Ic '${x}'", "python3 ${x}",
        "python3 <<E\n${x}\nE", "echo ${x} | python3 -", "perl -e '${x}'", "perl -ne '${x}' f",
        "perl -pi -e 's/a/${x}/' f", "ruby -e '${x}'", "node -e '${x}'", "node --eval '${x}'",
        "node --eval='${x}'", "php -r '${x}'", "docker run i python -c '${x}'", "awk '{print \"${x}\"}'",
        "awk -F: \"/${x}/\" f", "awk -f ${x}", "sed s/a/${x}/ f", "sed -e 's/a/${x}/' f",
        "sed -n -e p -e '${x}' f", "sed -i '' 's/a/${x}/' f", "sed --expression=${x} f", "gsed -E 's/${x}//'",
        # variables that decide what runs
        "LD_PRELOAD=${x} ls", "IFS=${x}", "export PATH=${x}", "BASH_ENV=${x} bash f",
        "env NODE_OPTIONS=${x} node f", "PATH=$PATH:${x}", "PFLOW_1=${x}",
        # not inserted as data
        "echo $\"${x}\"", "cat <<\\E\n${x}\nE", 'cat <<"E"\n${x}\nE', "cat <<-'E'\n\t${x}\n\tE",
        "cat <<E\n\\${x}\nE", 'echo "\\${x}"', "echo `echo \\\\\\${x}`", "echo $'a\\'b' ${x}",
        "x=$(cat <<E)\n${x}\nE\n", "cat <<E $(a\nb) ${x}\nE\n", "echo $${a ${x}", "(echo ${x}", "echo ${x};;",
        "case ${x} of", "case a in b ${x}", "esac ${x}", "echo (${x})", "a=( ${x}", "[[ a ${x}",
        "echo $\\\n(echo ${x})", "cat <\\\n<E\n${x}\nE", "echo \"$${a:-it's}\" ${x}", "echo \"$${a:-'}'}\" ${x}",
        "echo " + "$(" * 60 + "${x}" + ")" * 60, "echo a | >", "cat <<E\n`a \\\" ${x}`\nE",
    ],
)  # fmt: skip
def test_what_could_be_run_is_refused(text: str) -> None:
    if "${x}" not in text:
        text += " ${x} '"
    _, problems = compile_value(text, "shell")
    assert problems


@pytest.mark.parametrize(
    "text",
    [
        "sh -c 'echo \"$1\"' _ ${x}", "bash -euo pipefail -c 'a \"$1\"' _ ${x}", "sh ./run.sh ${x}",
        "bash script -c ${x}", "sh -s -- ${x} <f", "python3 script.py ${x}", "python3 -m json.tool ${x}",
        "python3 -c 'import sys' ${x}", "python3 -W ignore run.py ${x}", "perl script.pl ${x}",
        "node app.js --eval ${x}", "awk -v name=${x} '{print name}' ${y}", "awk -F: '{print $1}' ${x}",
        "awk -f prog ${x}",
        "sed -n p ${x}", "sed -e s/a/b/ ${x}", "sed 's/a/b/' ${x} | sort", "sed -f prog ${x}",
        "grep -e ${x} f", "grep -r ${x} .", "find . -name ${x}",
        "find ${x} -exec sh -c 'echo \"$1\"' _ {} \\;", "cp . ${x}",
        "sudo cp a . ${x}", "time ls ${x}", "nice -n 5 ls ${x}", "timeout ${x} ls", "xargs rm ${x}",
        "env A=${x} ls", "command -v ${x}", "A=${x} B='${y}' ls", "export A=${x} B",
        "readonly A=${x}",
        "ssh ${x} uptime", "ssh -p ${x} host uptime", "curl -s ${x} | jq .a", "curl ${x} | python3 script.py",
        "echo ${x} | sh run.sh", "echo ${x}; date | sh", "echo ${x} | grep sh",
        "[ -n ${x} ] && [ ${x} = ${y} ]", "[ ${x} -eq 1 ]", "test -f ${x}",
        "printf ${x}", "printf '%s' ${x} ${y}", "echo $1 $# $? $- $! $$ $@ ${x}",
        "echo a=${x} -c ${y} eval ${x}", "ls *${x}* ~/${x} [${x}] {a,${x}}", "a=(${x} b)",
        "f () { echo ${x}; }", "function f { echo ${x}; }; f",
        "function f() { echo ${x}; }", "while read l; do echo ${x}; done <f", "until [ ${x} ]; do :; done",
        "if true; then echo ${x}; elif [ ${y} ]; then :; else :; fi", "( echo ${x} ) >f 2>&1 &",
        "{ echo ${x}; } 2>/dev/null",
        "echo ${x} &>f", "echo ${x} 2>&1 >&2", "diff <(cat ${x}) <(cat ${y})", "cat <<<${x}",
        "cat <<A <<B\n${x}\nA\n${y}\nB\n", "cat <<E >f && echo ${y}\n${x} 'it\\\\ \\$ \\` $(ls \"${y}\")\nE",
        "(cat <<E)\n${x}\nE",
        "cat <<'E'\n'$(\nE\necho ${x}", "cat <<E\na\\\nE\n${x}\nE\n", "select a in ${x}; do :; done",
        "for a\nin ${x}; do :; done", "echo $((1 + (2 * $a))) ${x}", "((a < 1)) && echo ${x}",
        "[[ $a == (b|c) && d ]] && echo ${x}",
        "case ${x} in\n  # it's\n  (a|b) echo ${y} ;;\n  *) ;;\nesac | cat",
        "case ${x} in a) b;; esac; echo ${y}", "case a in a) b;& c) echo ${x};;& esac", "echo a#b ${x}",
        "echo \"$(case a in a) echo ${x};; esac)\"",
        "echo $${A} $${A:-b} $${#A} $${A%%'}'} \"$${A:-\"b\"}\" ${x}", "echo \"a$\" $ ${x}",
        "echo `a \\`b ${x}\\``", "trap 'rm f' EXIT; echo ${x}", "eval a; echo ${x}", "! grep ${x} f",
        "coproc cat ${x}", "echo \\\"${x}\\' \\\\${y}", "$CMD ${x}",
        "echo $'a' ${x}", "a |& b ${x}", "set -- ${x}", "cd ${x} && ls", "export -p; echo ${x}",
        "echo {} ${x} }", "time { echo ${x}; }",
    ],
)  # fmt: skip
def test_what_the_shell_takes_as_data_is_allowed(text: str) -> None:
    assert problems_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "echo '${x}' \"${x}\" '\\${x}' \\\\${x}",
        "cat <<E\n\\\\${x} ${x}'\nE",
        "cat <<\tE;\n${x}\nE\n",
        "cat <<E\na\\\nE\n'${x}\nE\n",
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_backslashes_before_backslashes_do_not_count(shell: str, text: str, folder: Path) -> None:
    assert run(shell, render(text, x="$(touch canary)"), folder).count(b"$(touch canary)") == text.count("${x}")


def test_every_problem_is_found_and_placed() -> None:
    found = compile_value("eval ${a}; echo ${b}; sh -c ${c}", "shell")[1]
    assert [(problem.offset, problem.message.split("`")[1]) for problem in found] == [(5, "${a}"), (28, "${c}")]
    found = compile_value("echo ${a} '${b}' \"${c}", "shell")[1]
    assert [(problem.offset, problem.message.split("`")[1]) for problem in found] == [(18, "${c}")]


def test_names_are_known_even_where_a_command_is_refused() -> None:
    command, _ = compile_value("eval ${a} ${b.c}", "shell")
    assert [reference.root for reference in command.references] == ["a", "b"]


def test_a_nul_in_the_command_is_a_problem() -> None:
    assert problems_of("echo \0 ${x}") == [("the command holds a NUL character", "take it out")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["echo ${x}\n", "sh | ", "} | sh\n", "$(echo ${x}) ", "<<E\n${x}\nE\n", "eval ", "`a`"]
)
def test_a_command_of_any_length_is_read(form: str) -> None:
    command, _ = compile_value(form * (100_000 // len(form)) + "; echo ${x}", "shell")
    assert command.references


def test_thousands_of_templates_are_read_and_filled() -> None:
    command = compiled("echo" + "".join(f" ${{v{index}}}" for index in range(5_000)))
    found = command.render(lambda reference: reference.root)
    assert found.text == "echo" + "".join(f' "${{PFLOW_{index}}}"' for index in range(1, 5_001))
    assert found.env["PFLOW_4999"] == "v4998"


@pytest.mark.parametrize("text", ["x" * 120_001, "echo ${x}" + "x" * 120_000, "echo " + "${x} " * 10_000])
def test_a_command_that_no_shell_takes_is_a_problem(text: str) -> None:
    assert [hint for _, hint in problems_of(text)] == ["put the script in a file of its own"]


PIECES = [
    *"ab =;|&<>()'\"\\$`{}[]#\n-!",
    "${x}",
    "<<E\n",
    "\nE\n",
    "$(",
    "$((",
    "$${",
    "case ",
    " in ",
    "esac",
    "eval ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@settings(max_examples=examples(400))
def test_any_text_is_understood_or_refused_and_keeps_its_templates(text: str) -> None:
    command, problems = compile_value(text, "shell")
    rendered = None if problems else command.render(lambda reference: "v")
    if isinstance(rendered, ShellCommand):
        assert rendered.env == {"PFLOW_1": "v"}
        assert "${PFLOW_1}" in rendered.text
        written = "".join(part if isinstance(part, str) else part.text for part in split_text(text)[0])
        # Quotes around a template may be the author's or ours, so they are left out of both.
        kept, wanted = (re.sub(r"['\"]*\$\{(PFLOW_1|x)\}['\"]*", "${x}", each) for each in (rendered.text, written))
        assert kept == wanted


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "LD_PRELOAD",
        "IFS",
        "BASH_ENV",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "npm_config_yes",
        "NPM_CONFIG_YES",
        "ENV",
        "LD_ANYTHING",
        "DYLD_INSERT_LIBRARIES",
        "GIT_SSH_COMMAND",
        "BASH_FUNC_ls",
        "PFLOW_1",
        "PFLOW_HOME",
    ],
)
def test_variables_that_decide_what_runs_are_reserved(name: str) -> None:
    assert "is reserved" in str(check_env_name(name))


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A=B", "A\n", "é", "A\0", "A.B", "BASH_FUNC_ls%%"])
def test_names_that_no_shell_can_read_are_refused(name: str) -> None:
    assert check_env_name(name) == "the name of a variable has letters, digits and `_` only, and no digit first"


@pytest.mark.parametrize("name", ["A", "_", "_a1", "NAME", "path", "MY_PATH", "LANG", "GITHUB_TOKEN", "PFLOW"])
def test_other_names_are_free(name: str) -> None:
    assert check_env_name(name) is None


def test_every_reserved_name_is_one() -> None:
    assert all(check_env_name(name) for name in RESERVED_ENV)
    assert min(len(name) for name in RESERVED_ENV) >= 3
