"""Driving runs for others: finding what is due, and seeing it through in a daemon, beside a server or on its own."""
