"""Fixtures: the home and the project for resource tests."""

from tests.resources.conftest import paths, put

__all__ = ["paths", "put"]
