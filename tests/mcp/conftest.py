"""The home and the project that tests of resources have."""

from tests.resources.conftest import paths, put

__all__ = ["paths", "put"]
