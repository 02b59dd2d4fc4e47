"""All of them; started by `tests.box.test_escapes` in a box."""

from tests.box.escapes import others, outside, system
from tests.box.escapes.core import ATTEMPTS, tell

assert outside and others and system and ATTEMPTS
tell()
