"""`python -P -m app`, for development. `-P` keeps a project's own `app` folder out of the way."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "package"))

from bayou.__main__ import main

del sys.path[0]
sys.exit(main())
