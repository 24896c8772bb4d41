"""Completion as the shells see it: the scripts they load, and the lines that pflow answers them with.

A script passes the line up to the cursor and gets a line `KIND<tab>VALUE<tab>MORE` for each offer. A plain value stands
for the whole word, and MORE describes it; for `file` and `dir` the shell completes VALUE itself, behind MORE.
"""

from __future__ import annotations

import os
import re
import shlex

from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string

from pflow.cli.console import Console
from pflow.core.printable import escape

_BASH = """\
_pflow_completion() {
    local kind value
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
        esac
    done < <(_PFLOW_COMPLETE=bash-line_complete _PFLOW_LINE="${COMP_LINE:0:COMP_POINT}" _PFLOW_WORD="$2" \\
        "$1" 2> /dev/null < /dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}

complete -o nosort -F _pflow_completion pflow
"""

_ZSH = """\
#compdef pflow

_pflow_completion() {
    local -a lines parts words_offered names_offered
    local line offer
    lines=("${(@f)$(_PFLOW_COMPLETE=zsh-line_complete _PFLOW_LINE="${words[1,CURRENT-1]} $PREFIX" \\
        ${(Q)words[1]} 2> /dev/null < /dev/null)}")
    for line in $lines; do
        parts=("${(@ps:\\t:)line}")
        if [[ $parts[1] == (file|dir) ]]; then
            [[ -n $parts[3] ]] && compset -P '*='
            if [[ $parts[1] == file ]]; then _files; else _files -/; fi
            return
        fi
        offer="${parts[2]//:/\\\\:}${parts[3]:+:$parts[3]}"
        if [[ $parts[2] == *= ]]; then names_offered+=("$offer"); else words_offered+=("$offer"); fi
    done
    (( $#names_offered )) && _describe -V input names_offered -S ''
    (( $#words_offered )) && _describe -V word words_offered
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _pflow_completion "$@"
else
    compdef _pflow_completion pflow
fi
"""

_FISH = """\
function _pflow_completion
    set -l line (commandline -cp | string collect)
    for answer in (_PFLOW_COMPLETE=fish-line_complete _PFLOW_LINE="$line" pflow 2> /dev/null < /dev/null)
        set -l parts (string split \\t -- $answer)
        switch $parts[1]
            case file
                for path in (__fish_complete_path "$parts[2]")
                    echo -- "$parts[3]$path"
                end
            case dir
                for path in (__fish_complete_directories "$parts[2]")
                    echo -- "$parts[3]$path"
                end
            case plain
                printf '%s\\t%s\\n' "$parts[2]" "$parts[3]"
        end
    end
end

complete --no-files --command pflow --arguments "(_pflow_completion)"
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""What each shell loads."""

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class LineComplete(ShellComplete):
    """Answers a script with offers for the last word of the line that it passes."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words behind `pflow`, and the one at the cursor."""
        *words, last = split_arg_string(os.environ.get("_PFLOW_LINE", "") + ".")
        while words and _ASSIGNMENT.match(words[0]):
            del words[0]  # as in `HOME=/tmp pflow …`
        return words[1:], last[:-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """The offers; click has cut what stands before the `=` of an option off their values."""
        console = self.ctx_args.get("obj")
        if isinstance(console, Console):
            console.typed = incomplete
        found = super().get_completions(args, incomplete)
        flag, equals, _ = incomplete.partition("=")
        if not equals or not flag.startswith("-"):
            return found
        for item in found:
            item.value = item.value if item.type != "plain" or "=" in item.value else f"{flag}={item.value}"
        return found

    def format_completion(self, item: CompletionItem) -> str:
        """One line for the script."""
        if item.type == "plain":
            return f"plain\t{self.write_value(item.value)}\t{escape(item.help or '')}"
        _, word = self.get_completion_args()
        return f"{item.type}\t{item.value}\t{word.removesuffix(item.value)}"

    def write_value(self, value: str) -> str:
        """A word for the shell to insert, which quotes it."""
        return value


class BashComplete(LineComplete):
    """Bash replaces only what follows the last `=` or `:` of the word, and quotes nothing."""

    name = "bash-line"

    def format_completion(self, item: CompletionItem) -> str:
        """One line; bash shows no descriptions."""
        return super().format_completion(item).rpartition("\t")[0]

    def write_value(self, value: str) -> str:
        """The rest of the word, quoted."""
        _, word = self.get_completion_args()
        kept = word.removesuffix(os.environ.get("_PFLOW_WORD", ""))
        return shlex.quote(value.removeprefix(kept))


class ZshComplete(LineComplete):
    """Zsh takes whole words with descriptions."""

    name = "zsh-line"


class FishComplete(LineComplete):
    """Fish takes whole words with descriptions."""

    name = "fish-line"


def register_shells() -> None:
    """Make click know them. Scripts of 0.1.0 that were saved to a file go on with click's own protocol."""
    for shell in (BashComplete, ZshComplete, FishComplete):
        add_completion_class(shell)
