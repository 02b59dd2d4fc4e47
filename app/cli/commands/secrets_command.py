"""Implements `bayou secrets mask
list [FILE …]`: masks or lists secrets in files or piped text, as a session would."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from app.assembly.options import UsageError
from app.cli.change_folder import current_folder
from app.engine.core.session_options import SessionOptions
from app.engine.secrets.known_secrets import SecretSources
from app.engine.secrets.session_mask import SessionMask, parse_custom_patterns
from app.printing import print_data, print_json, print_line, print_problem, print_text
from app.resources.paths import Paths
from app.resources.settings.effective_settings import EffectiveSettings
from tools.masking.marks import MARK_PREFIX
from tools.masking.mask import Mask
from tools.masking.streams import MaskedStream

_USAGE = (
    "bayou secrets mask [FILE …]           print a text with its secrets masked\n"
    "bayou secrets list [--json] [FILE …]  list secrets by file, line and "
    "kind; exit code 1 if there are any\n\nWithout FILE, standard input is read. Secrets are "
    "values of secret environment variables, bayou's own credentials, values\n"
    "in the .env "
    "files of this folder and of the files named here, and the patterns in docs/secrets.md.\n"
)
_CHUNK_BYTES = 1 << 16
_MAX_FILE_BYTES = 64 << 20


class _FoundSecret(msgspec.Struct, frozen=True):
    """A masked secret and the file and line where it is."""

    file: str
    line: int
    kind: str
    mark: str


def run(words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words):
        print_text(_USAGE)
        return 0
    verb, rest = words[0], words[1:]
    options = [word for word in rest if word.startswith("--")]
    files = [word for word in rest if word not in options]
    if verb not in ("mask", "list") or any(one != "--json" or verb != "list" for one in options):
        told = "Commands: mask [FILE…], list [--json] [FILE…]."
        raise UsageError(f"Unknown command: bayou secrets {' '.join(words)}. {told}")
    paths = Paths.from_env(os.environ, current_folder())
    effective_settings = EffectiveSettings(paths)
    for problem in (
        *effective_settings.problems,
        *parse_custom_patterns(effective_settings.settings.secrets.patterns)[1],
    ):
        print_problem(str(problem))
    effective_settings.set("secrets.mask", True)
    masking = SessionMask(
        SecretSources(agent_dir=paths.agent_dir, home=paths.home, environment=os.environ),
        SessionOptions(effective_settings),
    )
    masking.known_secrets.search_files(paths.cwd, files)
    return (
        _print_masked(masking, paths.cwd, files)
        if verb == "mask"
        else _list_secrets(masking, paths.cwd, files, bool(options))
    )


def _print_masked(masking: SessionMask, cwd: Path, files: list[str]) -> int:
    failed = False
    for name in files or ["-"]:
        try:
            if name == "-":
                print_data(_mask_pipe(masking, sys.stdin.buffer))
            else:
                text = _read_text(cwd / name, masking)
                print_data([masking.masked_text(text, "").encode()])
        except OSError as problem:
            failed = True
            print_problem(f"{name}: {problem.strerror or problem}")
    return 1 if failed else 0


def _mask_pipe(masking: SessionMask, source: BinaryIO) -> Iterator[bytes]:
    stream = MaskedStream(masking.mask_of_bytes)
    while piece := source.read1(_CHUNK_BYTES) if hasattr(source, "read1") else source.read(_CHUNK_BYTES):  # type: ignore[attr-defined]
        yield stream.mask_piece(piece)
    yield stream.mask_rest()


def _list_secrets(masking: SessionMask, cwd: Path, files: list[str], is_json: bool) -> int:
    count, failed = 0, False
    for name in files or ["-"]:
        try:
            text = (
                sys.stdin.buffer.read().decode("utf-8", "replace")
                if name == "-"
                else _read_text(cwd / name, masking)
            )
        except OSError as problem:
            failed = True
            print_problem(f"{name}: {problem.strerror or problem}")
            continue
        for place in _secret_places(masking, name, text):
            count += 1
            if is_json:
                print_json(msgspec.to_builtins(place))
            else:
                print_line(f"{place.file}:{place.line}: {place.kind} {place.mark}")
    return 1 if count or failed else 0


def _secret_places(masking: SessionMask, name: str, text: str) -> Iterator[_FoundSecret]:
    mask: Mask | None = masking.mask()
    assert mask is not None
    found = mask.mask_text(text)
    if not found.found:
        return
    marks = {mark for mark, _ in found.found}
    for number, line in enumerate(found.text.split("\n"), 1):
        for one in mask.marker.own_marks(line):
            if one[0] in marks:
                yield _FoundSecret(name, number, one[0][len(MARK_PREFIX) : -1].rsplit(":", 1)[0], one[0])


def _read_text(path: Path, masking: SessionMask) -> str:
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise OSError(27, f"is larger than {_MAX_FILE_BYTES >> 20} MB; pipe it into the command instead")
    masking.known_secrets.search_file(path)
    return path.read_bytes().decode("utf-8", "replace")
