"""Built-in steps.

A node class may carry `version = 2` (the default is 1). Raise it when the same params would now give another result:
steps that were recorded before then run again on resume or edit. Any other change of the source reruns nothing.
"""
