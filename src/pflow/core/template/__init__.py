"""Templates `${name}`: parsed once, looked up, and kept from becoming shell text or another part of a URL."""
