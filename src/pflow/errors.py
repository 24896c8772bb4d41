"""Every error that pflow raises: `PflowError` and its tree."""

from pflow.core import errors as _errors
from pflow.core.errors import *  # noqa: F403

__all__ = [name for name, found in vars(_errors).items() if getattr(found, "__module__", "") == _errors.__name__]
