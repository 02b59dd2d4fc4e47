"""Masks secrets in everything that enters a session, once, so that model, file, programs, exports and search see the
same text.

`tools.masking` recognises secrets, `known_secrets` knows values, `masked_calls` masks tool calls and restores
secrets in changed files."""

import asyncio
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from app.engine.core.session_options import SessionOptions
from app.engine.secrets.known_secrets import (
    FindSecretFiles,
    KnownSecrets,
    SecretSources,
    find_no_secret_files,
)
from app.resources.installation_key import load_or_create_key
from app.values.content import Text, UserContent
from app.values.json_texts import replace_texts_in_json, texts_in_json
from app.values.messages import BashExecutionMessage, CustomMessage, UserMessage
from app.values.user_errors import UserError
from tools.masking.secret_marks import SECRET_MARK_PREFIX, SecretMarker
from tools.masking.secret_mask import SecretMask, UserSecretPattern
from tools.session_workspace import SessionWorkspace

_MAX_REMEMBERED_SECRET_PLACEHOLDERS = 500
MaskableMessage = TypeVar("MaskableMessage", UserMessage, CustomMessage, BashExecutionMessage)


class MaskedSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that was masked in this session."""

    mark: str
    kind: str
    digest: str
    where: str
    """The most recent source: a tool with its path, or the prompt."""
    count: int = 1


class SessionSecretMask:
    """Masks the secrets in everything that enters one session."""

    def __init__(
        self,
        places: SecretSources,
        options: SessionOptions,
        *,
        folder: Callable[[], Path | None] = lambda: None,
        secret_files: FindSecretFiles = find_no_secret_files,
    ) -> None:
        """Creates the mask. `folder` returns the working folder, if it is on this machine."""
        self._places = places
        self._folder = folder
        self._options = options
        self.known_secrets = KnownSecrets(places, secret_files)
        self._marker: SecretMarker | None = None
        self._marker_lock = threading.Lock()
        self._cached_masks: dict[bool, tuple[object, SecretMask]] = {}
        self._found_secrets: OrderedDict[str, MaskedSecret] = OrderedDict()
        self._masked_sections: dict[str, tuple[SecretMask, str, str]] = {}
        """The mask, the text and the masked text of each prompt section by name, cached because every request needs
        all sections."""
        self._has_searched_files = False

    # Masking

    def mask(self) -> SecretMask | None:
        """Returns the current mask for texts; None if masking is off."""
        return self._cached_mask(as_bytes=False)

    def search_files(self, *texts: str) -> None:
        """Searches changed files, and files named in the texts, for secrets; for a thread."""
        if self.mask() is not None:
            self.known_secrets.search_files(self._folder(), texts)
            self._has_searched_files = True
            self.mask()

    def mask_of_bytes(self) -> SecretMask | None:
        """Returns the current mask for output in bytes; None if masking is off."""
        return self._cached_mask(as_bytes=True)

    def _cached_mask(self, *, as_bytes: bool) -> SecretMask | None:
        chosen = self._options.effective_settings.settings.secrets
        if not chosen.mask:
            return None
        stands = (self.known_secrets.version, chosen)
        made = self._cached_masks.get(as_bytes)
        if made is None or made[0] != stands:
            mask = SecretMask(
                self._shared_marker(),
                known=self.known_secrets.known_values(),
                named=self.known_secrets.secrets_known_by_name(),
                own=parse_custom_secret_patterns(chosen.patterns)[0],
                ignored=chosen.ignore,
                as_bytes=as_bytes,
            )
            self._cached_masks[as_bytes] = made = (stands, mask)
        return made[1]

    def _shared_marker(self) -> SecretMarker:
        """Returns the session's marker, which makes placeholders; created once, since two markers would make
        different placeholders."""
        with self._marker_lock:
            if self._marker is None:
                self._marker = SecretMarker(load_or_create_key(self._places.agent_dir))
            return self._marker

    def masked_text(self, text: str, where: str) -> str:
        """Returns the text with its secrets masked."""
        mask = self.mask()
        if mask is None or not text:
            return text
        done = mask.mask_text(text).text
        if where and SECRET_MARK_PREFIX in done:  # also placeholders that were made while the text arrived
            for found in mask.marker.find_own_marks(done):
                self._count_masked_secret(found[0], where)
        return done

    def mask_sections(self, sections: Mapping[str, str]) -> dict[str, str]:
        """Masks secrets in the sections of the system prompt. The same texts give the same bytes until more
        secrets are known, so that the provider's cache holds."""
        if not self._has_searched_files:
            self.search_files()
        mask = self.mask()
        if mask is None:
            return dict(sections)
        return {name: self._mask_section(mask, name, text) for name, text in sections.items()}

    def _mask_section(self, mask: SecretMask, name: str, text: str) -> str:
        kept = self._masked_sections.get(name)
        if kept is not None and kept[0] is mask and kept[1] == text:
            return kept[2]
        done = self.masked_text(text, f"{name} of the system prompt")
        self._masked_sections[name] = (mask, text, done)
        return done

    async def mask_text(self, text: str, where: str) -> str:
        """Masks secrets in a text that is sent to a model outside of the conversation."""

        def masked() -> str:
            self.search_files(text)
            return self.masked_text(text, where)

        return await asyncio.to_thread(masked) if self.mask() is not None else text

    def mask_value(self, value: Any, where: str) -> Any:
        """Masks secrets in all texts of JSON data, keys included. Data without secrets is returned unchanged."""
        mask = self.mask()
        if mask is None or value is None or mask.has_nothing_to_mask(texts_in_json(value, names=True)):
            return value
        return replace_texts_in_json(value, lambda text: self.masked_text(text, where))

    def mask_message(self, message: MaskableMessage, where: str) -> MaskableMessage:
        """Masks secrets in a message to the model."""
        mask = self.mask()
        if mask is None or mask.has_nothing_to_mask(_message_texts(message)):
            return message
        if isinstance(message, BashExecutionMessage):
            return msgspec.structs.replace(
                message,
                command=self.masked_text(message.command, where),
                output=self.masked_text(message.output, where),
            )
        content = self._mask_content(message.content, where)
        if isinstance(message, UserMessage):
            return msgspec.structs.replace(message, content=content)
        return msgspec.structs.replace(
            message, content=content, details=self.mask_value(message.details, where)
        )

    def _mask_content(
        self, content: str | tuple[UserContent, ...], where: str
    ) -> str | tuple[UserContent, ...]:
        if isinstance(content, str):
            return self.masked_text(content, where)
        return tuple(self._mask_block(block, where) for block in content)

    def _mask_block(self, block: UserContent, where: str) -> UserContent:
        if isinstance(block, Text):
            return msgspec.structs.replace(block, text=self.masked_text(block.text, where))
        return block

    def _count_masked_secret(self, mark: str, where: str) -> None:
        before = self._found_secrets.pop(mark, None)
        kind, digest = mark[len(SECRET_MARK_PREFIX) : -1].rsplit(":", 1)
        count = before.count + 1 if before is not None else 1
        self._found_secrets[mark] = MaskedSecret(
            mark=mark, kind=kind, digest=digest, where=where, count=count
        )
        while len(self._found_secrets) > _MAX_REMEMBERED_SECRET_PLACEHOLDERS:
            self._found_secrets.popitem(last=False)

    @property
    def masked_secrets(self) -> tuple[MaskedSecret, ...]:
        """Returns the secrets masked in this session, the latest last."""
        return tuple(self._found_secrets.values())

    def placeholders_in(self, text: str) -> tuple[str, ...]:
        """Returns the placeholders of this session's secrets that a text contains."""
        return tuple(mark for mark in self._found_secrets if mark in text)

    def mark_as_no_secret(self, digest: str) -> MaskedSecret:
        """Stops masking the value behind a placeholder, since it is a false alarm. Raises `UserError`."""
        wanted = digest.removeprefix(SECRET_MARK_PREFIX).removesuffix("]").rpartition(":")[2]
        known = next((one for one in self._found_secrets.values() if one.digest == wanted), None)
        if known is None:
            raise UserError(f"There is no masked secret {digest} in this session. /secrets lists them.")
        mine = tuple(self._options.effective_settings.layer_values("secrets.ignore").get("global", ()))
        if wanted not in mine:
            self._options.effective_settings.save_value("secrets.ignore", (*mine, wanted))
        return self._found_secrets.pop(known.mark)


def _message_texts(message: UserMessage | CustomMessage | BashExecutionMessage) -> list[str]:
    if isinstance(message, BashExecutionMessage):
        return [message.command, message.output]
    content = message.content
    said = [content] if isinstance(content, str) else [one.text for one in content if isinstance(one, Text)]
    return (
        [*said, *texts_in_json(message.details, names=True)] if isinstance(message, CustomMessage) else said
    )


def parse_custom_secret_patterns(
    patterns: Iterable[str],
) -> tuple[tuple[UserSecretPattern, ...], tuple[str, ...]]:
    """Parses the user's `KIND: EXPRESSION` patterns for secrets; returns the patterns and the errors."""
    found: list[UserSecretPattern] = []
    problems: list[str] = []
    for text in patterns:
        kind, colon, pattern = text.partition(":")
        try:
            compiled = re.compile(pattern.strip())
        except re.error as problem:
            problems.append(f"secrets.patterns: {text} is not a regular expression: {problem}.")
            continue
        if not colon or not kind.strip() or not pattern.strip() or compiled.match("") is not None:
            problems.append(f"secrets.patterns: {text} must be KIND: EXPRESSION, and must match some text.")
            continue
        found.append(UserSecretPattern(kind.strip(), compiled))
    return tuple(found), tuple(problems)


def install_secret_masking(
    workspace: SessionWorkspace,
    places: SecretSources,
    options: SessionOptions,
    *,
    secret_files: FindSecretFiles = find_no_secret_files,
) -> SessionSecretMask:
    """Makes the session's masking of secrets, and installs it in the workspace for command output and files that
    tools read."""
    masking = SessionSecretMask(
        places,
        options,
        folder=lambda: workspace.cwd if workspace.has_local_files else None,
        secret_files=secret_files,
    )
    workspace.mask_output = masking.mask_of_bytes
    workspace.mask_text = lambda text: masking.masked_text(text, "")
    return masking
