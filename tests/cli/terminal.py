"""An interactive shell on a terminal of its own, whose command line can be read back after each Tab."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

READ_BACK = "\x0f"  # Ctrl-O
TAB = "\t"
SECONDS = 60
"""Only a shell that hangs takes this long."""

_SET_UP = {
    "bash": """\
PS1='ready> '
bind 'set bell-style none' 'set enable-bracketed-paste off' 'set show-all-if-ambiguous on'
show_line() { printf '%s\\n' "$READLINE_LINE" > "$READ_BACK_TO"; }
bind -x '"\\C-o": show_line'
eval "$(pflow completion bash)"
""",
    "zsh": """\
PS1='ready> '
autoload -Uz compinit && compinit -u
show_line() { print -r -- "$BUFFER" > "$READ_BACK_TO"; }
zle -N show_line
bindkey '^O' show_line
eval "$(pflow completion zsh)"
""",
    "fish": """\
function fish_prompt; echo 'ready> '; end
function fish_greeting; end
function show_line; commandline > "$READ_BACK_TO"; end
bind \\co show_line
pflow completion fish | source
""",
}
_START = {
    "bash": ["bash", "--noprofile", "--rcfile", "rc", "-i"],
    "zsh": ["zsh", "--no-globalrcs", "-i"],
    "fish": ["fish", "--init-command", "source rc", "--interactive"],
}
_OWN_TERMINAL = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Makes stdin the controlling terminal of a new session, as a terminal program would."""


class Terminal:
    """A shell in `folder`, with pflow's completion loaded."""

    def __init__(self, shell: str, folder: Path) -> None:
        self._fifo = folder / ".line"
        os.mkfifo(self._fifo)
        start = folder / ".shell"
        start.mkdir()
        (start / "rc").write_text(_SET_UP[shell])
        (start / ".zshrc").write_text(_SET_UP[shell])
        words = [str(start / "rc") if word == "rc" else word.replace(" rc", f" {start}/rc") for word in _START[shell]]
        self._leader, follower = pty.openpty()
        self._seen = self._all = ""
        self._changed = threading.Condition()
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(start),
            "ZDOTDIR": str(start),
            "PFLOW_HOME": os.environ["PFLOW_HOME"],
            "READ_BACK_TO": str(self._fifo),
            "TERM": "xterm",
            "LANG": "C.UTF-8",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OWN_TERMINAL, *words],
            cwd=folder,
            env=environment,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.expect("ready> ")

    def complete(self, line: str) -> str:
        """The command line after it was typed, followed by a Tab."""
        return self.press(f"\x15{line}{TAB}")

    def press(self, keys: str) -> str:
        """The command line after some keys."""
        found: list[str] = []
        waiting = threading.Thread(target=lambda: found.append(self._fifo.read_text()), daemon=True)
        waiting.start()
        os.write(self._leader, f"{keys}{READ_BACK}".encode())
        waiting.join(SECONDS)
        assert found, f"the shell did not answer; it showed:\n{self._seen}"
        return found[0].removesuffix("\n")

    def expect(self, text: str) -> None:
        """Wait until the terminal has shown some text since the last time."""
        with self._changed:
            shown = self._changed.wait_for(lambda: text in self._seen, SECONDS)
            assert shown, f"the shell never showed {text!r}, but:\n{self._seen}"
            self._seen = self._seen.partition(text)[2]

    @property
    def shown(self) -> str:
        """All that the terminal has shown so far."""
        with self._changed:
            return self._all

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._leader, 4096)
            except OSError:
                return  # the shell is gone
            if not data:
                return
            with self._changed:
                text = data.decode(errors="replace")
                self._seen += text
                self._all += text
                self._changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(SECONDS)
        os.close(self._leader)
