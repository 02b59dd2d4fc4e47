"""Implements `bayou secrets mask
list [FILE …]`: masks or lists secrets in files or piped text, as a session would."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.engine.core.session_options import SessionOptions
from app.engine.secrets.known_secrets import SecretSources
from app.engine.secrets.session_mask import SessionSecretMask, parse_custom_secret_patterns
from app.printing import print_data, print_json, print_line, print_problem, print_text
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from tools.masking.masked_stream import MaskedStream
from tools.masking.secret_marks import SECRET_MARK_PREFIX
from tools.masking.secret_mask import SecretMask

_SECRETS_USAGE_TEXT = (
    "bayou secrets mask [FILE …]           print a text with its secrets masked\n"
    "bayou secrets list [--json] [FILE …]  list secrets by file, line and "
    "kind; exit code 1 if there are any\n\nWithout FILE, standard input is read. Secrets are "
    "values of secret environment variables, bayou's own credentials, values\n"
    "in the .env "
    "files of this folder and of the files named here, and the patterns in docs/secrets.md.\n"
)
_MASKING_CHUNK_BYTES = 1 << 16
_MAX_MASKED_FILE_BYTES = 64 << 20


class _FoundSecret(msgspec.Struct, frozen=True):
    """A masked secret and the file and line where it is."""

    file: str
    line: int
    kind: str
    mark: str


def run(words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words):
        print_text(_SECRETS_USAGE_TEXT)
        return 0
    verb, rest = words[0], words[1:]
    options = [word for word in rest if word.startswith("--")]
    files = [word for word in rest if word not in options]
    if verb not in ("mask", "list") or any(one != "--json" or verb != "list" for one in options):
        told = "Commands: mask [FILE…], list [--json] [FILE…]."
        raise UsageError(f"Unknown command: bayou secrets {' '.join(words)}. {told}")
    paths = BayouPaths.from_env(os.environ, current_folder())
    effective_settings = EffectiveSettings(paths)
    for problem in (
        *effective_settings.problems,
        *parse_custom_secret_patterns(effective_settings.settings.secrets.patterns)[1],
    ):
        print_problem(str(problem))
    effective_settings.set("secrets.mask", True)
    masking = SessionSecretMask(
        SecretSources(agent_dir=paths.agent_dir, home=paths.home, environment=os.environ),
        SessionOptions(effective_settings),
    )
    masking.known_secrets.search_files(paths.cwd, files)
    return (
        _print_masked(masking, paths.cwd, files)
        if verb == "mask"
        else _list_secrets(masking, paths.cwd, files, bool(options))
    )


def _print_masked(masking: SessionSecretMask, cwd: Path, files: list[str]) -> int:
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


def _mask_pipe(masking: SessionSecretMask, source: BinaryIO) -> Iterator[bytes]:
    stream = MaskedStream(masking.mask_of_bytes)
    read = getattr(source, "read1", source.read)  # what is there already, where the stream can tell
    while piece := read(_MASKING_CHUNK_BYTES):
        yield stream.mask_next_piece(piece)
    yield stream.mask_remaining_bytes()


def _list_secrets(masking: SessionSecretMask, cwd: Path, files: list[str], is_json: bool) -> int:
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


def _secret_places(masking: SessionSecretMask, name: str, text: str) -> Iterator[_FoundSecret]:
    mask: SecretMask | None = masking.mask()
    assert mask is not None
    found = mask.mask_text(text)
    if not found.found:
        return
    marks = {mark for mark, _ in found.found}
    for number, line in enumerate(found.text.split("\n"), 1):
        for one in mask.marker.find_own_marks(line):
            if one[0] in marks:
                yield _FoundSecret(
                    name, number, one[0][len(SECRET_MARK_PREFIX) : -1].rsplit(":", 1)[0], one[0]
                )


def _read_text(path: Path, masking: SessionSecretMask) -> str:
    if path.stat().st_size > _MAX_MASKED_FILE_BYTES:
        raise OSError(
            27, f"is larger than {_MAX_MASKED_FILE_BYTES >> 20} MB; pipe it into the command instead"
        )
    masking.known_secrets.search_file(path)
    return path.read_bytes().decode("utf-8", "replace")
