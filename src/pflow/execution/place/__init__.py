"""Places, where many machines keep and drive runs."""
