"""All names that an extension may import. They are the program's own, so they are there in bayou's process.

Elsewhere, as in the tests of an extension, the program is added to the end of the path, unless another
package `app` is in its place.
"""

import os
import sys
from importlib.util import find_spec

from bayou.program import program_folder

_folder = program_folder()
_found = find_spec("app")
if _found is None or _found.origin is None:  # nothing, or a plain folder, before which packages come
    sys.path.append(_folder)
elif os.path.realpath(_found.origin) != os.path.realpath(os.path.join(_folder, "app", "__init__.py")):
    raise ImportError(
        f"bayou's names for extensions need bayou's own process: here `app` is {_found.origin}. "
        "To control bayou from this program: from bayou.client import RpcClient"
    )

from app.extensions.public import *  # noqa: F403  (the path first)
