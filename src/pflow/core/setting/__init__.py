"""Options and credentials, and keeping secrets out of what is stored or shown."""
