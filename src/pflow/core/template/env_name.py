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

_DECIDING = frozenset([
    *("HOME", "PWD", "OLDPWD", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "PS0", "PS2"),
    *("MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "CC", "CXX", "CPP", "LD", "AR", "RUSTC", "RUSTDOC"),
    *("RUSTFLAGS", "RUSTDOCFLAGS", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOFLAGS", "GOROOT", "GOPATH", "GOENV"),
    *("GOTOOLCHAIN", "GOPROXY", "CGO_CFLAGS", "CGO_LDFLAGS", "LESS", "LESSKEY", "LESSEDIT", "MANOPT", "MORE"),
    *("VIMINIT", "EXINIT", "GVIMINIT", "MYVIMRC", "EMACSLOADPATH", "PSQLRC", "PGSERVICEFILE", "PGSYSCONFDIR"),
    *("MYSQL_HOME", "RSYNC_RSH", "RSYNC_CONNECT_PROG", "CVS_RSH", "SVN_SSH", "HGRCPATH", "HG", "TAR_OPTIONS"),
    *("KUBECONFIG", "KUBECTL_EXTERNAL_DIFF", "HELM_PLUGINS", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
    *("CLOUDSDK_CONFIG", "CLOUDSDK_PYTHON", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "COMPOSE_FILE"),
    *("GRADLE_OPTS", "GRADLE_USER_HOME", "MAVEN_OPTS", "MAVEN_ARGS", "ANT_OPTS", "ANT_ARGS", "JAVA_OPTS"),
    *("SBT_OPTS", "JAVA_HOME", "GEM_HOME", "GEM_PATH", "RUBYSHELL", "VIRTUAL_ENV", "PNPM_HOME", "DENO_DIR"),
    *("NODE_REPL_EXTERNAL_MODULE", "ELECTRON_RUN_AS_NODE", "ELIXIR_ERL_OPTIONS", "R_PROFILE", "R_PROFILE_USER"),
    *("R_ENVIRON", "R_ENVIRON_USER", "R_HOME", "JULIA_LOAD_PATH", "JULIA_DEPOT_PATH", "OPENSSL_CONF"),
    *("OPENSSL_ENGINES", "OPENSSL_MODULES", "CURL_HOME", "WGETRC", "SCREENRC", "INPUTRC", "COMPOSER_HOME"),
    *("TCLLIBPATH", "GH_CONFIG_DIR", "FCEDIT", "HISTFILE", "MAILPATH", "PERL_MM_OPT", "PERL_MB_OPT", "PERL5SHELL"),
    *("DBUS_SESSION_BUS_ADDRESS", "CMAKE_TOOLCHAIN_FILE", "TERRAFORM_CONFIG", "TF_CLI_CONFIG_FILE", "NIX_PATH"),
])  # fmt: skip
"""Variables that lead programs to what they run: a document may write their values out, but not fill them in."""

_DECIDING_PREFIXES = (
    *("GIT_", "PYTHON", "PIP_", "UV_", "CARGO_", "POETRY_", "PIPENV_", "CONDA_", "YARN_", "COREPACK_", "BUNDLE_"),
    *("ANSIBLE_", "ERL_", "LUA_", "BASH_", "RUBY", "PERL5", "TF_CLI_ARGS", "HOMEBREW_", "NPM_CONFIG_"),
)  # fmt: skip
_DECIDING_SUFFIXES = ("PAGER", "EDITOR", "BROWSER", "_ASKPASS", "_WRAPPER", "_RSH")
_HARMLESS_PREFIXES = (
    *("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT", "GIT_TRACE", "GIT_COMMIT", "GIT_BRANCH", "GIT_TAG"),
    *("GIT_SHA", "GIT_REF", "GIT_URL", "GIT_USER", "GIT_REPO", "GIT_MESSAGE", "PYTHONUNBUFFERED", "PYTHONIOENCODING"),
    *("PYTHONUTF8", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS", "CONDA_ENV_NAME"),
)  # fmt: skip
_HARMLESS_SUFFIXES = ("_TOKEN", "_PASSWORD", "_PASSPHRASE", "_USER", "_USERNAME", "_EMAIL", "_API_KEY")
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


def check_env_value(name: str) -> str | None:
    """Why no value from outside the document may be put into this variable; None when it may."""
    reason = check_env_name(name)
    if reason is not None or name.startswith(_HARMLESS_PREFIXES) or name.endswith(_HARMLESS_SUFFIXES):
        return reason
    if name in _DECIDING or name.startswith(_DECIDING_PREFIXES) or name.endswith(_DECIDING_SUFFIXES):
        return f"`{name}` leads programs to what they run"
    return None
