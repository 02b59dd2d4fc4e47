"""The options with which bayou was started, as one frozen value. `app.cli` parses them."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from app.values.user_errors import UserError
from tools.files.path_existence import is_file

_MAX_WORD_CHARS_FOR_PATH: Final = 1_000


class UsageError(UserError):
    """Raised if the command line is invalid or cannot be carried out; the text names the cause and the remedy."""


def split_files_and_messages(words: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Splits words into files (`@file`, without the @) and messages."""
    given = tuple(words)
    files = [word for word in given if word.startswith("@") and len(word) > 1]
    return tuple(word[1:] for word in files), tuple(word for word in given if word not in files)


def resolve_option_paths(options: "CommandLineOptions", folder: Path) -> "CommandLineOptions":
    """Resolves the paths of the command line against the folder where bayou was started, whichever folder it
    works in later."""

    def placed(word: str) -> str:
        return word if word.startswith(("~", "builtin:")) else str(folder / word)

    def text_or_file(word: str) -> str:
        """Resolves a value that names an existing file; any other text stays as it is."""
        is_name = (
            len(word) < _MAX_WORD_CHARS_FOR_PATH
            and "\n" not in word
            and is_file(folder / Path(word).expanduser())
        )
        return placed(word) if is_name else word

    return msgspec.structs.replace(
        options,
        extension=tuple(map(placed, options.extension)),
        skill=tuple(map(placed, options.skill)),
        theme=tuple(map(placed, options.theme)),
        add_dir=tuple(map(placed, options.add_dir)),
        prompt_template=tuple(map(placed, options.prompt_template)),
        mcp_config=placed(options.mcp_config) if options.mcp_config else options.mcp_config,
        session_dir=placed(options.session_dir) if options.session_dir else options.session_dir,
        system_prompt=text_or_file(options.system_prompt) if options.system_prompt else options.system_prompt,
        output_schema=placed(options.output_schema) if options.output_schema else options.output_schema,
        append_system_prompt=tuple(map(text_or_file, options.append_system_prompt)),
    )


class CommandLineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All command line flags (described in `app.cli.flags.COMMAND_LINE_FLAG_GROUPS`), and the words that are not
    flags."""

    model: str | None = None
    provider: str | None = None
    api_key: str | None = None
    thinking: str | None = None
    models: str | None = None
    list_models: bool = False
    continue_: bool = False
    resume: bool = False
    session: str | None = None
    session_id: str | None = None
    fork: str | None = None
    session_dir: str | None = None
    no_session: bool = False
    name: str | None = None
    export: str | None = None
    print: bool = False
    mode: str | None = None
    no_merge_deltas: bool = False
    rpc_ready: bool = False
    verbose: bool = False
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    tools: str | None = None
    exclude_tools: str | None = None
    no_tools: bool = False
    no_builtin_tools: bool = False
    no_context_files: bool = False
    extension: tuple[str, ...] = ()
    no_extensions: bool = False
    safe: bool = False
    skill: tuple[str, ...] = ()
    no_skills: bool = False
    prompt_template: tuple[str, ...] = ()
    no_prompt_templates: bool = False
    theme: tuple[str, ...] = ()
    use_theme: str | None = None
    no_themes: bool = False
    mcp_config: str | None = None
    no_mcp: bool = False
    approve: bool = False
    no_approve: bool = False
    permissions: str | None = None
    plan: bool = False
    cwd: str | None = None
    add_dir: tuple[str, ...] = ()
    offline: bool = False
    help: bool = False
    version: bool = False
    files: tuple[str, ...] = ()
    """The files named by `@file` words, without the `@`."""
    messages: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """The words of the command line that are no flags (files and messages), in order."""
    max_turns: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    time_limit: float | None = None
    output_schema: str | None = None
    result: str | None = None
    goal_check: tuple[str, ...] = ()
    extension_flags: dict[str, str | bool] = {}
    value_positions: dict[str, int] = {}
    """The index of the word behind each flag of an extension, which may be the flag's value."""

    def value_after_flag(self, flag: str) -> str | None:
        at = self.value_positions.get(flag)
        return None if at is None else self.words[at]

    def without_flag_values(self, flags: Collection[str]) -> "CommandLineOptions":
        """Returns the options without the words that are values of these flags."""
        taken = {at for flag, at in self.value_positions.items() if flag in flags}
        files, messages = split_files_and_messages(
            word for at, word in enumerate(self.words) if at not in taken
        )
        return msgspec.structs.replace(self, files=files, messages=messages)
