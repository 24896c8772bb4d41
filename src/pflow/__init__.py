"""pflow: where an agent's solved task becomes a program. Importing this package loads nothing else."""

__version__ = "0.1.0"
