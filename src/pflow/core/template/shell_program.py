"""The programs that run what they are given: a table of what each takes as code, from where, and what to write instead.

It is a list of what is known, not a boundary: a program that is missing here is taken to treat its arguments as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Arguments = Literal["data", "script", "code", "all", "after", "command", "subcommand", "setting"]
"""What a program's arguments are to it: data; a file of code first; code first; code, all of them; code after its own
ones; another command after its own ones; a part of it with options of its own; the name of a setting and its value.
"""


class Program(NamedTuple):
    """How a program takes code.

    Letters of options: their value is `code`, something else (`takes`), or names a `file` of code; after one of `ends`
    everything is data. `maybe` holds code unless another option follows. `long`, `long_takes`, `long_file` and `pairs`
    (two values) are the same for options that are words. `own` arguments come before those that `arguments` is about.
    With `anywhere`, options may follow arguments. On `stdin` it reads code when it was given none, or always. What
    begins with one of `harmless` is not code. One that `loads` is given files of code in the ordinary course.
    """

    arguments: Arguments = "data"
    code: str = ""
    takes: str = ""
    file: str = ""
    ends: str = ""
    maybe: str = ""
    long: tuple[str, ...] = ()
    long_takes: tuple[str, ...] = ()
    long_file: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    own: int = 0
    anywhere: bool = False
    stdin: Literal["no", "alone", "always"] = "no"
    harmless: tuple[str, ...] = ()
    loads: bool = False
    instead: str = ""


LIST = "write `command` as a list of arguments, which runs without a shell"
"""What is right for nearly every command; it stands first in every hint."""

_CODE_STEP = "do this in a `code` step"
_ARGUMENT = "put the script in single quotes and pass the value after it, where the script finds it in "
_SHELL = "put the script in single quotes and pass the value after it: `sh -c 'echo \"$1\"' sh …`"
_QUOTED = "put it in single quotes, with a variable for the value"
_NAMED = "write out what runs; values can only be its arguments"
_QUERY = "run the query in a `code` step, with the value bound to it"
_REMOTE = "the other side runs what it gets in a shell: fix the command there, and send the value as `stdin`"

SHELLS = frozenset([
    *("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "rbash", "yash", "pdksh", "oksh"),
    *("nu", "xonsh", "elvish", "pwsh", "powershell"),
])  # fmt: skip
SHELL = Program("script", stdin="alone", instead=_SHELL)

_PYTHON = Program("script", "c", "WX", ends="m", stdin="alone", instead=f"{_ARGUMENT}`sys.argv`")
_NODE = Program(
    "script", "e", "", "r", maybe="p", stdin="alone", instead=f"{_ARGUMENT}`process.argv`",
    long=("--eval", "--print"), long_file=("--require", "--import", "--loader", "--experimental-loader"),
)  # fmt: skip
_PERL = Program("script", "eE", "I", stdin="alone", instead=f"{_ARGUMENT}`@ARGV`")
_RUBY = Program("script", "e", "I", "r", stdin="alone", instead=f"{_ARGUMENT}`ARGV`")
_PHP = Program("script", "rBRE", "dcz", "fF", stdin="alone", long=("--run",), instead=f"{_ARGUMENT}`$argv`")
_EVALUATING = Program("script", "eE", long=("--eval", "--execute", "-eval"), stdin="alone", instead=_CODE_STEP)
_AWK = Program(
    "code", "e", "FvWi", "f", long=("--source",), long_takes=("--assign", "--field-separator"), long_file=("--file",),
    instead="pass it with `-v name=…` before the script, or read `ENVIRON[\"NAME\"]` in it",
)  # fmt: skip
_SED = Program(
    "code", "e", "l", "f", long=("--expression",), long_file=("--file",), long_takes=("--line-length",), anywhere=True,
    instead=f"{_CODE_STEP}; a `sed` script has no variables",
)  # fmt: skip
_JQ = Program(
    "code", "", "L", "f", long_file=("--from-file",), long_takes=("--indent", "--tab"), anywhere=True,
    pairs=("--arg", "--argjson", "--slurpfile", "--rawfile"), instead="pass it with `--arg name …` and write `$name`",
)  # fmt: skip
_QUERYING = Program("data", own=3, stdin="alone", anywhere=True, loads=True, instead=_QUERY, long=(
    "--command", "--execute", "--query", "--eval", "--init-command",
))  # fmt: skip
_PSQL = _QUERYING._replace(code="c", takes="dhpUvfoFPRT")
_MYSQL = _QUERYING._replace(code="e", takes="hPuDS")
_AFTER_NAME = Program(
    "after", own=1, long=("-cmd", "-c", "-s"), stdin="alone", anywhere=True, loads=True, instead=_QUERY
)
_COMMAND_LINE = Program(
    "data", "c", "gGs", long=("--command", "--session-command"), anywhere=True, stdin="no", instead=_SHELL
)
_ALL = Program("all", instead=_SHELL)
_READER = Program("data", "e", file="f", long=("--expression",), own=9, stdin="always", instead=_CODE_STEP)
_EDITOR = Program(
    "data", "cS", own=9, long=("--cmd", "+", "-cmd", "--eval", "--execute", "-eval", "--funcall", "--load", "--script"),
    anywhere=True, instead=_CODE_STEP,
)  # fmt: skip
_DEBUGGER = Program(
    "data", "ox", long=("-ex", "-eval-command", "-iex", "--eval-command", "--one-line", "--command"), anywhere=True,
    stdin="alone", own=9, instead=_CODE_STEP,
)  # fmt: skip
_SSH_SAFE = (
    *("connecttimeout=", "user=", "port=", "hostname=", "identityfile=", "stricthostkeychecking=", "loglevel="),
    *("userknownhostsfile=", "serveralive", "batchmode=", "compression=", "bindaddress=", "hostkeyalias="),
)  # fmt: skip
_GIT_SAFE = (
    *("user.", "author.", "committer.", "color.", "advice.", "http.extraheader", "init.defaultbranch", "push.default"),
    *("pull.rebase", "core.quotepath", "core.autocrlf", "core.abbrev", "branch.", "remote.origin.url", "log.", "tag."),
)  # fmt: skip
_SOCAT_SAFE = ("tcp", "udp", "unix", "openssl", "file:", "open:", "-")
_GIT_REMOTE = Program(
    "data", "", "bjo", long=("--upload-pack", "--receive-pack", "--exec", "--config", "--upload-archive"), anywhere=True
)
_RUN_OTHER = Program("command", instead=_NAMED)

PROGRAMS: Mapping[str, Program] = {
    # the shell's own words
    "eval": Program("all", instead="leave `eval` out; without it, the value is data"),
    "let": Program("all", instead="compute it in a `code` step"),
    **dict.fromkeys((".", "source"), Program("script", instead=_NAMED)),
    **dict.fromkeys(("trap", "alias"), Program("all", instead=_QUOTED)),
    # languages
    **dict.fromkeys(("python", "pypy", "ipython", "bpython"), _PYTHON),
    **dict.fromkeys(("node", "nodejs", "tsx", "ts-node"), _NODE),
    "bun": _NODE._replace(arguments="subcommand"),
    "bun run": Program("script", instead=_NAMED),
    "deno": Program("subcommand", stdin="alone"),
    "deno eval": Program("code", takes="p", anywhere=True, instead=f"{_ARGUMENT}`Deno.args`"),
    "deno run": Program("script", instead=_NAMED),
    "deno repl": Program("data", long=("--eval", "--eval-file"), stdin="always"),
    "perl": _PERL,
    "ruby": _RUBY,
    "php": _PHP,
    **dict.fromkeys(("lua", "luajit", "Rscript", "R", "julia", "octave", "osascript", "elixir", "iex"), _EVALUATING),
    **dict.fromkeys(("groovy", "scala", "clojure", "clj", "racket", "swift", "ghc", "ghci", "raku", "erl"),
        _EVALUATING),
    **dict.fromkeys(("sbcl", "gnuplot", "jshell", "kotlin", "irb", "guile"), _EVALUATING._replace(code="ec")),
    **dict.fromkeys(("tclsh", "wish", "expect", "matlab"), Program("script", "cr", stdin="alone", long=("-batch",))),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("sed", "gsed"), _SED),
    **dict.fromkeys(("jq", "gojq", "jaq", "yq"), _JQ),
    **dict.fromkeys(("bc", "dc", "ed", "red", "ftp", "lftp"), _READER),
    "m4": Program("data", "DU", "I", own=0, stdin="alone", instead=_CODE_STEP),
    "expr": Program(),
    "xmllint": Program(long=("--xpath",), stdin="no", instead=_CODE_STEP),
    # databases
    "psql": _PSQL,
    **dict.fromkeys(("mysql", "mariadb"), _MYSQL),
    **dict.fromkeys(("mongosh", "mongo"), _QUERYING),
    **dict.fromkeys(("clickhouse-client", "sqlcmd"), _QUERYING._replace(code="qQ")),
    "redis-cli": Program("subcommand", "", "hpanur"),
    "redis-cli eval": Program("code", instead="pass it after the script, which finds it in `ARGV`"),
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb"), _AFTER_NAME),
    # editors and debuggers
    **dict.fromkeys(("vi", "vim", "nvim", "view", "vimdiff"), _EDITOR),
    **dict.fromkeys(("emacs", "emacsclient"), _EDITOR._replace(code="fe", file="l")),
    "ex": _EDITOR._replace(stdin="always"),
    **dict.fromkeys(("gdb", "lldb"), _DEBUGGER),
    # building
    **dict.fromkeys(("make", "gmake"), Program(
        "all", "E", "CjloWI", "f", long=("--eval",), long_takes=("--directory", "--jobs"), anywhere=True,
        long_file=("--file", "--makefile"), instead="pass it in `env` and write `\"$$NAME\"` in the recipe",
    )),
    "cmake": Program("data", "", "BSDGCT", "P", anywhere=True, instead=_NAMED),
    **dict.fromkeys(("ansible", "ansible-playbook"), Program("data", "ae", long=("--args", "--extra-vars"),
        anywhere=True)),
    # programs that run another
    **dict.fromkeys(("builtin", "nohup", "setsid", "time", "chronic", "unbuffer", "busybox", "toybox"), _RUN_OTHER),
    **dict.fromkeys(("tini", "dumb-init", "caffeinate", "eatmydata", "fakeroot", "bwrap", "valgrind"), _RUN_OTHER),
    "wsl": _RUN_OTHER,
    **dict.fromkeys(("proxychains", "proxychains4", "torsocks", "torify"), _RUN_OTHER),
    **dict.fromkeys(("dbus-launch", "dbus-run-session"), _RUN_OTHER),
    "xvfb-run": Program("command", "", "fnlpse", instead=_NAMED),
    "perf": Program("subcommand"),
    **dict.fromkeys(("perf stat", "perf record", "perf trace"), Program("command", "", "ecorFp", instead=_NAMED)),
    "command": Program("command", instead=_NAMED),
    "env": Program("command", "S", "uC", long=("--split-string",), long_takes=("--unset", "--chdir"), instead=_NAMED),
    "exec": Program("command", "", "a", instead=_NAMED),
    "nice": Program("command", "", "n", long_takes=("--adjustment",), instead=_NAMED),
    "ionice": Program("command", "", "cnp", long_takes=("--class", "--classdata"), instead=_NAMED),
    "stdbuf": Program("command", "", "ioe", long_takes=("--input", "--output", "--error"), instead=_NAMED),
    **dict.fromkeys(("sudo", "doas"), Program(
        "command", "", "ugpCDhrtTR", long_takes=("--user", "--group", "--prompt", "--chdir", "--host"), instead=_NAMED,
    )),
    "xargs": Program(
        "command", "", "ILnPsdEa", instead=_NAMED,
        long_takes=("--max-args", "--max-procs", "--delimiter", "--arg-file", "--max-lines", "--max-chars"),
    ),
    "timeout": Program("command", "", "ks", own=1, long_takes=("--signal", "--kill-after"), instead=_NAMED),
    **dict.fromkeys(("chroot", "gosu", "su-exec", "setarch", "faketime", "taskset", "chrt"),
        _RUN_OTHER._replace(own=1)),
    "systemd-run": Program("command", "", "pEuHMt", long_takes=("--unit", "--property", "--setenv"), instead=_NAMED),
    **dict.fromkeys(("unshare", "setpriv", "cgexec", "firejail"), Program("command", "", "gSG", instead=_NAMED)),
    "nsenter": Program("command", "", "tSG", long_takes=("--target",), instead=_NAMED),
    "go": Program("subcommand"),
    "go run": Program("script", instead=_NAMED),
    **dict.fromkeys(("strace", "ltrace"), Program("command", "", "eopsSuPEaI", instead=_NAMED)),
    **dict.fromkeys(("npx", "bunx", "uvx"), Program("command", "c", "p", long=("--call",), long_takes=(
        "--package", "--from", "--with", "--python",
    ), instead=_NAMED)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "uv", "poetry", "pipenv", "pipx", "bundle", "rye", "pdm"),
        Program("subcommand")),
    **dict.fromkeys(("npm exec", "npm x", "pnpm exec", "pnpm dlx", "yarn dlx", "yarn exec"), Program(
        "command", "c", long=("--call",), instead=_NAMED,
    )),
    **dict.fromkeys(("uv run", "poetry run", "pipenv run", "pipx run", "bundle exec", "rye run", "pdm run"), Program(
        "command", "", "p", long_takes=("--with", "--python", "--group", "--extra", "--project", "--directory",
            "--spec"),
        instead=_NAMED,
    )),
    "flock": Program("command", "c", "wE", own=1, long=("--command",), instead=_SHELL),
    **dict.fromkeys(("su", "runuser", "script"), _COMMAND_LINE),
    "nix-shell": Program(long=("--run", "--command"), code="", anywhere=True, instead=_SHELL),
    **dict.fromkeys(("watch", "entr", "hyperfine", "cmd", "cmd.exe"), _ALL),
    "vagrant": Program("subcommand"),
    "vagrant ssh": Program("data", "c", long=("--command",), anywhere=True, instead=_REMOTE),
    "parallel": Program("all", stdin="alone", instead="use `batch`, which runs a step for each item"),
    **dict.fromkeys(("at", "batch", "crontab"), Program(
        "data", file="f", own=9, anywhere=True, stdin="always", instead=_CODE_STEP,
    )),
    "tmux": Program("all", "", "tsnFxye", anywhere=True, instead=_SHELL),
    "screen": Program("all", "", "SXt", anywhere=True, instead=_SHELL),
    **dict.fromkeys(("xterm", "gnome-terminal", "konsole"), Program(code="e", anywhere=True, instead=_SHELL)),
    # other machines
    "ssh": Program("after", "oF", "BbcDEeIiJLlmOpQRSWw", own=1, stdin="alone", harmless=_SSH_SAFE, instead=_REMOTE),
    **dict.fromkeys(("scp", "sftp"), Program("data", "oFS", "ciJlPX", "b", harmless=_SSH_SAFE, anywhere=True)),
    "mosh": Program("after", own=1, instead=_REMOTE),
    "sshpass": Program("command", "", "pfdP", instead=_NAMED),
    "rsync": Program("data", "e", long=("--rsh", "--rsync-path"), long_takes=("--exclude", "--include"), anywhere=True),
    "socat": Program("all", harmless=_SOCAT_SAFE, instead=_NAMED),
    **dict.fromkeys(("nc", "ncat"), Program(code="ec", takes="psw", long=("--exec", "--sh-exec", "--lua-exec"),
        anywhere=True)),
    "curl": Program("data", "", "AbcdDeEFHhmoPQrTuUwxXyYz", "K", long_file=("--config",), anywhere=True),
    "wget": Program("data", "e", "OoPaiTtUQ", long=("--use-askpass", "--execute", "--config"), anywhere=True),
    # options of ordinary programs that name a command
    "tar": Program("data", "IF", "fCTXbgHKLNV", anywhere=True, long=(
        "--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--info-script",
            "--new-volume-script",
    )),
    "sort": Program("data", "", "koStT", long=("--compress-program",), anywhere=True),
    "split": Program("data", "", "abClnt", long=("--filter",), anywhere=True),
    "zip": Program("data", "", "bdintx", long=("-TT", "--unzip-command"), anywhere=True),
    **dict.fromkeys(("less", "more"), Program("data", long=("+",), anywhere=True)),
    "hg": Program("data", long=("--config", "--encoding"), anywhere=True),
    "man": Program("data", "PH", "CLmMSs", long=("--pager", "--html"), anywhere=True),
    # git
    "git": Program(
        "subcommand", "c", "C", long=("--config-env", "--exec-path"), harmless=_GIT_SAFE,
        long_file=("--git-dir", "--work-tree"), instead="write the name of the setting out",
    ),
    **dict.fromkeys(("git clone", "git fetch", "git pull", "git push", "git ls-remote", "git archive"), _GIT_REMOTE),
    "git config": Program("setting", harmless=_GIT_SAFE, anywhere=True, instead="write the name of the setting out"),
    "git grep": Program("data", "O", "efABCm", long=("--open-files-in-pager",), anywhere=True),
    "git rebase": Program("data", "x", long=("--exec",), anywhere=True),
    "git difftool": Program("data", "x", "t", long=("--extcmd",), anywhere=True),
    "git bisect": Program("after", own=1, instead=_NAMED),
    "git filter-branch": _ALL,
    "git submodule": Program("subcommand"),
    "git submodule foreach": _ALL,
}  # fmt: skip

CARRIERS = frozenset([
    *("docker", "podman", "nerdctl", "kubectl", "oc", "k3s", "lxc", "lxc-attach", "incus", "nsenter", "unshare"),
    *("systemd-run", "machinectl", "vagrant", "multipass", "limactl", "wsl", "flatpak", "toolbox", "distrobox", "ssh"),
    *("docker-compose", "heroku", "flyctl", "fly", "gcloud", "proot", "bwrap", "firejail", "conda", "mamba", "mise"),
    *("direnv", "dotenv", "doppler", "op", "aws-vault", "cgexec", "numactl", "setpriv", "perf", "valgrind",
        "hyperfine"),
])  # fmt: skip
"""Programs with a whole command somewhere among their arguments, which gets their standard input."""

SCRIPTED = frozenset(["eval", "trap", "watch", "entr", "su", "runuser", "script", "flock", "nix-shell"])
"""Programs that are not shells and give their code to one."""

SPEAKING = frozenset(["echo", "printf"])
"""Programs that print their arguments; others get names of files and addresses as well."""

COUNTING = frozenset(["wc", "cksum", "md5sum", "sha1sum", "sha256sum", "date", "nproc", "stat"])
"""Programs whose output is a number or a digest, unless a value is among their arguments."""

READING = frozenset([
    *("cat", "head", "tail", "tac", "rev", "tr", "cut", "sort", "uniq", "tee", "grep", "egrep", "fgrep", "rg", "paste"),
    *("fold", "fmt", "nl", "column", "expand", "iconv", "base64", "base32", "xxd", "od", "gzip", "gunzip", "zcat",
        "xz"),
    *("jq", "gojq", "jaq", "yq", "sed", "gsed", "awk", "gawk", "mawk", "perl", "python", "ruby", "node", "xargs", "dd"),
    *("envsubst", "line", "sponge", "shuf", "strings", "mlr", "openssl", "gpg", "read", "pandoc", "dos2unix"),
])  # fmt: skip
"""Programs that pass on what they read from their standard input."""
