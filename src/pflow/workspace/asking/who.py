"""Who is at this machine, for what is recorded with a name."""

from __future__ import annotations


def user_name() -> str:
    """The person at this machine, as the system knows them; nothing if it does not."""
    import getpass  # lazy: only for those who answer or settle something

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
