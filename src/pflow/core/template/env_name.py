"""Names of environment variables: which ones a workflow may set for the programs it starts."""

from __future__ import annotations

import re

RESERVED_ENV = frozenset([
    *("PATH", "IFS", "ENV", "BASH_ENV", "CDPATH", "SHELL", "SHELLOPTS", "BASHOPTS", "PS1", "PS4"),
    *("PROMPT_COMMAND", "GLOBIGNORE", "FPATH", "ZDOTDIR"),
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH", "HOSTALIASES", "NLSPATH"),
    *("GETCONF_DIR", "TERMINFO"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONBREAKPOINT"),
    *("PYTHONUSERBASE", "PYTHONEXECUTABLE"),
    *("NODE_OPTIONS", "NODE_PATH", "NPM_CONFIG_YES", "RUBYOPT", "RUBYLIB", "PERL5OPT", "PERL5LIB"),
    *("PERL5DB", "PERLLIB", "LUA_INIT", "LUA_PATH", "LUA_CPATH"),
    *("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH"),
    *("PHPRC", "PHP_INI_SCAN_DIR"),
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EDITOR"),
    *("GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXEC_PATH"),
    *("GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_TEMPLATE_DIR", "EDITOR", "VISUAL", "PAGER"),
    *("MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE"),
])  # fmt: skip
"""Variables that decide what runs, which no value of a workflow may."""

_PREFIXES = ("LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check_env_name(name: str) -> str | None:
    """Why a workflow cannot set a variable of this name; None when it can."""
    if not _NAME.match(name):
        return "the name of a variable has letters, digits and `_` only, and no digit first"
    if name.startswith("PFLOW_"):
        return f"`{name}` is reserved: names that begin with `PFLOW_` are pflow's own"
    if name in RESERVED_ENV or name.startswith(_PREFIXES) or name.lower().startswith("npm_config_"):
        return f"`{name}` is reserved: it decides what runs"
    return None
