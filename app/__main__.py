"""`python -P -m app`, for development. `-P` keeps a project's own `app` folder out of the way."""

import sys

from app.cli.main import main

sys.exit(main())
