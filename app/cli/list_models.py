"""`bayou --list-models [search]`: which models there are, and which have credentials."""

import os
import sys

from app.providers.catalogue import Catalogue
from app.providers.credentials import Credentials
from app.providers.listing import list_models as table
from app.resources.paths import Paths


def list_models(paths: Paths, search: str) -> int:
    catalogue = Catalogue.load(paths.agent_dir, env=os.environ)
    rows = table(catalogue, Credentials(paths.agent_dir, os.environ), search)
    sys.stdout.write("\n".join(rows) + "\n")
    for problem in catalogue.problems:
        sys.stderr.write(f"bayou: {problem}\n")
    return 0
