"""Templates `${name}`: parsed once, looked up, and never able to become shell text or another part of a URL."""
