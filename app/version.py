"""The version. `bayou --version` imports only this module."""

VERSION = "1.0.0"
