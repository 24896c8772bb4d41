"""The table of places that steps may not read, and of those that they may only not change; decides nothing.

Names are below a person's home directory. A name protects the file, or the directory with all that is in it.
"""

from __future__ import annotations

KEYS = "keys and credentials"

CREDENTIALS = {
    "SSH keys and settings": (".ssh",),
    KEYS: (
        *(".gnupg", ".netrc", "_netrc", ".password-store", ".vault-token", ".pgpass", ".my.cnf", ".mylogin.cnf"),
        *(".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli"),
        *(".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".oci", ".config/doctl", ".config/hcloud", ".fly"),
        *(".kube", ".docker/config.json", ".config/containers/auth.json", ".config/rclone", ".config/op"),
        *(".terraformrc", ".terraform.d/credentials.tfrc.json", ".cargo/credentials", ".cargo/credentials.toml"),
        *(".npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials", ".composer/auth.json", ".config/composer/auth.json"),
        *(".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config"),
        *(".huggingface/token", ".cache/huggingface/token", ".kaggle/kaggle.json"),
    ),
    "credentials of agents": (
        *(".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json"),
        *(".gemini/mcp-oauth-tokens.json", ".config/github-copilot", ".local/share/opencode/auth.json"),
        ".config/io.datasette.llm/keys.json",
    ),
    "stored passwords and browsers' profiles": (
        *(".local/share/keyrings", ".local/share/kwalletd", "Library/Keychains", "Library/Cookies"),
        *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/microsoft-edge"),
        *(".config/BraveSoftware", "snap/firefox", "snap/chromium", "Library/Application Support/Google/Chrome"),
        *("Library/Application Support/Firefox", "Library/Application Support/BraveSoftware"),
    ),
}
"""By what they hold: steps neither read nor change them."""

GIT = "git hooks or git settings"

CHANGES = {
    "shell start-up files": (
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout"),
        *(".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".config/fish"),
    ),
    "programs that start by themselves": (".config/autostart", ".config/systemd", "Library/LaunchAgents"),
    GIT: (".gitconfig", ".config/git"),
}
"""By what they are: steps read them, but do not change them."""

SYSTEM = {
    "password hashes": ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-"),
    "keys of this machine": ("/etc/krb5.keytab", "/etc/kubernetes"),
    "secrets of a container": ("/run/secrets", "/var/run/secrets"),
}
"""The same outside of home directories: steps neither read nor change them."""

HOST_KEY = ("/etc/ssh/ssh_host_", "_key")
"""How the private keys of an SSH server begin and end."""

MOVED = {
    "AWS_CONFIG_FILE": ("",),
    "AWS_SHARED_CREDENTIALS_FILE": ("",),
    "AZURE_CONFIG_DIR": ("",),
    "CARGO_HOME": ("credentials", "credentials.toml"),
    "CLAUDE_CONFIG_DIR": (".credentials.json", ".claude.json"),
    "CLOUDSDK_CONFIG": ("",),
    "CODEX_HOME": ("auth.json",),
    "DOCKER_CONFIG": ("config.json",),
    "GH_CONFIG_DIR": ("",),
    "GNUPGHOME": ("",),
    "GOOGLE_APPLICATION_CREDENTIALS": ("",),
    "KUBECONFIG": ("",),
    "NETRC": ("",),
    "NPM_CONFIG_USERCONFIG": ("",),
    "PGPASSFILE": ("",),
}
"""Variables that move credentials elsewhere, and which names below that place hold them."""

KERNEL = "devices and the kernel's files"

READABLE_KERNEL = frozenset(
    f"/proc/{name}" for name in ("cpuinfo", "diskstats", "loadavg", "meminfo", "stat", "uptime", "version", "vmstat")
)
"""What the kernel says about the machine, not about processes."""
