"""What comparing two runs gives, for those who show it."""

from pflow.execution.compare.comparison import ComparedStep, Comparison, Differences

__all__ = ["ComparedStep", "Comparison", "Differences"]
