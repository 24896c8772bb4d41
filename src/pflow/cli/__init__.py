"""The command line: words in, one workspace call, text or JSON out."""
