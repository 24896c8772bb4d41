"""Tests of workflows on the command line: their results as text and as JUnit."""
