"""The version, and nothing else: `bayou --version` imports no more than this."""

VERSION = "0.1.0"
