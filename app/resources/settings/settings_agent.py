"""The settings of the agent: model, conversation, tools, sessions, compaction, network, resources.

Each group describes its keys; `settings` composes the groups. The keys of `FLAT_GROUPS` are at the top
level of the file, those of other groups under the group's key."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from app.values.models import ThinkingLevel


class SettingsGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One feature's settings."""


class ThinkingBudgets(SettingsGroup, frozen=True, kw_only=True):
    """Thinking tokens a level may spend, for providers that count them."""

    minimal: Annotated[int, Meta(ge=0, description="Tokens for the level minimal.")] = 1024
    low: Annotated[int, Meta(ge=0, description="Tokens for the level low.")] = 2048
    medium: Annotated[int, Meta(ge=0, description="Tokens for the level medium.")] = 8192
    high: Annotated[int, Meta(ge=0, description="Tokens for the level high and above.")] = 16384


class ModelSettings(SettingsGroup, frozen=True, kw_only=True):
    """Which model answers, and how hard it thinks."""

    default_provider: Annotated[
        str | None,
        Meta(description="Provider of the model a new session starts with; null chooses by credentials."),
    ] = None
    default_model: Annotated[
        str | None, Meta(description="Model a new session starts with, by id or pattern; null chooses.")
    ] = None
    default_thinking_level: Annotated[
        ThinkingLevel, Meta(description="Thinking level of a new session, lowered where the model has less.")
    ] = "medium"
    model_thinking_levels: Annotated[
        dict[str, ThinkingLevel], Meta(description="Thinking level by `provider/model`, before the default.")
    ] = {}
    thinking_budgets: ThinkingBudgets = ThinkingBudgets()
    enabled_models: Annotated[
        tuple[str, ...] | None,
        Meta(description="Patterns of the models that the cycle keys go through; null: all."),
    ] = None
    cache_retention: Annotated[
        Literal["short", "long"], Meta(description="How long the provider is asked to keep the prompt cache.")
    ] = "short"
    show_cache_miss_notices: Annotated[
        bool, Meta(description="Tell when a request that should have hit the prompt cache did not.")
    ] = False


class InteractionSettings(SettingsGroup, frozen=True, kw_only=True):
    """How people and agent take turns."""

    steering_mode: Annotated[
        Literal["one-at-a-time", "all"],
        Meta(description="How many waiting steering messages are delivered at once."),
    ] = "one-at-a-time"
    follow_up_mode: Annotated[
        Literal["one-at-a-time", "all"],
        Meta(description="How many waiting follow-up messages are delivered at once."),
    ] = "one-at-a-time"
    interrupt_mode: Annotated[
        Literal["wait", "immediate"],
        Meta(
            description="Steering waits for the running tools, or skips those of the batch that have not ended."
        ),
    ] = "wait"
    external_editor: Annotated[
        str | None,
        Meta(
            description="Command of the external editor; null takes VISUAL, then EDITOR.",
            extra={"runs": True},
        ),
    ] = None
    double_escape_action: Annotated[
        Literal["tree", "fork", "none"], Meta(description="What Escape twice opens on an empty editor.")
    ] = "tree"
    tree_filter_mode: Annotated[
        Literal["default", "no-tools", "user-only", "labeled-only", "all"],
        Meta(description="What the session tree shows when it opens."),
    ] = "default"
    default_project_trust: Annotated[
        Literal["ask", "always", "never"],
        Meta(
            description="Whether a project's own settings, extensions and commands are used when nothing is "
            "decided yet. `ask` means no where nobody can be asked.",
            extra={"global_only": True},
        ),
    ] = "ask"


class ToolSettings(SettingsGroup, frozen=True, kw_only=True):
    """Which tools a session starts with."""

    default_tools: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Active tools of a new session. Plain names replace the built-in choice; a list with only "
            "`+name` and `-name` changes it; null keeps it."
        ),
    ] = None


EditModeName = Literal["auto", "replace", "anchored", "patch", "hashline"]


class EditSettings(SettingsGroup, frozen=True, kw_only=True):
    """How models are asked to write edits."""

    mode: Annotated[
        EditModeName,
        Meta(
            description="`replace`: old and new texts. `anchored` (or `hashline`): lines by the anchors that reads "
            "show. `patch`: apply_patch. `auto`: patch for models that were trained on it, else replace."
        ),
    ] = "auto"
    models: Annotated[
        dict[str, EditModeName],
        Meta(
            description="The way for some models, by pattern of `provider/model`; the first that fits counts."
        ),
    ] = {}
    streaming_abort: Annotated[
        bool,
        Meta(
            description="An answer is stopped at the first complete edit whose old text is not in its file, or whose "
            "file is not there: the agent gets the error at once, and what would have come behind it is not paid for."
        ),
    ] = False


class BackgroundSettings(SettingsGroup, frozen=True, kw_only=True):
    """Background jobs."""

    result_delivery: Annotated[
        Literal["steer", "followUp"],
        Meta(
            description="When a finished job's result reaches a working agent: before its next request, or at its end."
        ),
    ] = "steer"


class FileMapSettings(SettingsGroup, frozen=True, kw_only=True):
    """Outlines of large files."""

    enabled: Annotated[bool, Meta(description="Send an outline behind a read that was cut.")] = True
    time_limit_ms: Annotated[
        int, Meta(ge=50, le=60_000, description="Parsing time, after which a plainer outline is used.")
    ] = 2000
    max_bytes: Annotated[int, Meta(ge=1024, le=102_400, description="Longest outline that is sent.")] = 8192


class RepositoryMapSettings(SettingsGroup, frozen=True, kw_only=True):
    """Maps of the whole repository."""

    enabled: Annotated[
        bool, Meta(description="Index names and words of the repository when they are first asked for.")
    ] = True
    first_question: Annotated[
        Literal["off", "auto"],
        Meta(
            description="`auto` tells the model beside the first question where the work may be, if the map is sure "
            "of it and the folder has over 200 files of code."
        ),
    ] = "off"


class TodoSettings(SettingsGroup, frozen=True, kw_only=True):
    """The list of what is to be done."""

    enabled: Annotated[
        Literal["auto", "on", "off"],
        Meta(
            description="Whether the agent has the `todo` tool; `auto`: unless the model is known to plan without "
            "(`plansByItself` in its `compat`)."
        ),
    ] = "auto"
    reminders: Annotated[
        bool,
        Meta(description="Remind the agent, three times at most, when it would stop with open items."),
    ] = True


class SessionSettings(SettingsGroup, frozen=True, kw_only=True):
    """Session files."""

    session_dir: Annotated[
        str | None,
        Meta(description="Root folder of session files; null: in bayou's own folder.", extra={"runs": True}),
    ] = None
    session_sync: Annotated[
        Literal["off", "turn", "entry"],
        Meta(
            description="When session files are forced onto the disk: left to the system, at a turn's end, or at once."
        ),
    ] = "turn"


class UndoSettings(SettingsGroup, frozen=True, kw_only=True):
    """Taking back what was done to files."""

    enabled: Annotated[
        bool,
        Meta(description="Keep what files were before the agent changes them, so that it can be undone."),
    ] = True
    commands: Annotated[
        bool,
        Meta(description="Find out what commands change, by a look at the folder before and after them."),
    ] = True
    max_file_mb: Annotated[
        int, Meta(ge=1, le=1024, description="Larger files are not held, and their changes not undoable.")
    ] = 32
    max_store_mb: Annotated[
        int,
        Meta(
            ge=16,
            description="Room for what is held, of all sessions together; the oldest sessions lose theirs first, "
            "an open one never.",
        ),
    ] = 1024
    days: Annotated[
        int, Meta(ge=1, description="What a session holds is kept so long after it was used last.")
    ] = 30
    on_tree_move: Annotated[
        Literal["ask", "keep", "restore"],
        Meta(
            description="Going elsewhere in the tree: ask what becomes of files, keep them as they are, or show at "
            "once which would be put back."
        ),
    ] = "ask"


class ModelCompaction(SettingsGroup, frozen=True, kw_only=True):
    """Compaction of one model's sessions; what is null falls back to the general value."""

    reserve_tokens: Annotated[int, Meta(ge=0)] | None = None
    keep_recent_tokens: Annotated[int, Meta(ge=0)] | None = None


class CompactionSettings(SettingsGroup, frozen=True, kw_only=True):
    """What happens when the context window fills."""

    mode: Annotated[
        Literal["off", "remind", "auto"],
        Meta(
            description="`off`: never, not even on overflow; `remind`: a notice; `auto`: summarise by itself."
        ),
    ] = "auto"
    reserve_tokens: Annotated[
        int, Meta(ge=0, description="Room kept free for the answer; compaction starts when it is touched.")
    ] = 16384
    keep_recent_tokens: Annotated[int, Meta(ge=0, description="Latest tokens that stay word for word.")] = (
        20000
    )
    model: Annotated[
        str | None, Meta(description="`provider/model` that writes summaries; null: the session's own.")
    ] = None
    model_overrides: Annotated[
        dict[str, ModelCompaction], Meta(description="Other token limits by `provider/model`.")
    ] = {}


class BranchSummarySettings(SettingsGroup, frozen=True, kw_only=True):
    """Summaries of branches that are left."""

    reserve_tokens: Annotated[int, Meta(ge=0, description="Room kept free when a branch is summarised.")] = (
        16384
    )
    skip_prompt: Annotated[bool, Meta(description="Leave a branch without being asked for a summary.")] = (
        False
    )


class NetworkSettings(SettingsGroup, frozen=True, kw_only=True):
    """Requests to providers."""

    http_proxy: Annotated[
        str | None,
        Meta(
            description="Proxy for all requests; null takes HTTPS_PROXY and HTTP_PROXY.",
            extra={"global_only": True},
        ),
    ] = None
    first_event_timeout_ms: Annotated[
        int,
        Meta(
            ge=0, description="Watchdog: a response that has not begun by then is given up; 0 waits for ever."
        ),
    ] = 300_000
    http_idle_timeout_ms: Annotated[
        int, Meta(ge=0, description="Watchdog: a response that pauses longer is given up; 0 waits for ever.")
    ] = 300_000
    offline: Annotated[
        bool, Meta(description="Make no request that nobody asked for (discovery, updates).")
    ] = False


class RetrySettings(SettingsGroup, frozen=True, kw_only=True):
    """What happens after a failed request."""

    enabled: Annotated[bool, Meta(description="Try again after an error that may pass.")] = True
    max_retries: Annotated[int, Meta(ge=0, le=100, description="How often, at most.")] = 3
    base_delay_ms: Annotated[
        int, Meta(ge=0, description="First wait; each further one is twice as long.")
    ] = 2000
    max_agent_delay_ms: Annotated[int, Meta(ge=0, description="Longest wait.")] = 60_000


class ShellSettings(SettingsGroup, frozen=True, kw_only=True):
    """The shell that commands run in."""

    shell_path: Annotated[
        str | None,
        Meta(description="Shell program; null takes SHELL, then bash, then sh.", extra={"runs": True}),
    ] = None
    shell_command_prefix: Annotated[
        str | None,
        Meta(description="Put before every command, such as `source ~/.profile;`.", extra={"runs": True}),
    ] = None
    shell_pass_environment: Annotated[
        tuple[str, ...],
        Meta(
            description="Variables that commands get although they look like secrets, such as `GITHUB_TOKEN` "
            "or `AWS_*`.",
            extra={"is_merged_list": True, "runs": True},
        ),
    ] = ()


class ResourceSettings(SettingsGroup, frozen=True, kw_only=True):
    """Where more extensions, skills, prompts, themes and rules come from. Global and project lists add up."""

    extensions: Annotated[
        tuple[str, ...],
        Meta(
            description="More extension files or folders. `-builtin:file-maps` or `-NAME` switches one off.",
            extra={"is_merged_list": True, "runs": True},
        ),
    ] = ()
    skills: Annotated[
        tuple[str, ...], Meta(description="More folders with skills.", extra={"is_merged_list": True})
    ] = ()
    prompts: Annotated[
        tuple[str, ...],
        Meta(description="More prompt templates or folders of them.", extra={"is_merged_list": True}),
    ] = ()
    themes: Annotated[
        tuple[str, ...],
        Meta(description="More theme files or folders of them.", extra={"is_merged_list": True}),
    ] = ()
    enable_skill_commands: Annotated[bool, Meta(description="Offer every skill as `/skill:name`.")] = True


class RuleSettings(SettingsGroup, frozen=True, kw_only=True):
    """Rules for the agent."""

    enabled: Annotated[
        bool, Meta(description="Read rules from `.bayou/rules` and other tools' rule folders.")
    ] = True
    sources: Annotated[
        tuple[Literal["native", "cursor", "windsurf", "cline"], ...],
        Meta(description="Whose rule folders are read."),
    ] = ("native", "cursor", "windsurf", "cline")
    interrupt: Annotated[
        bool, Meta(description="Let a rule with a condition stop an answer that breaks it.")
    ] = True
    repeat_gap_turns: Annotated[
        int, Meta(ge=0, description="Turns before the same rule may interrupt again; 0: only once a session.")
    ] = 10


class ExtensionSettings(SettingsGroup, frozen=True, kw_only=True):
    """Limits that keep an extension from holding up the agent."""

    hook_timeout_ms: Annotated[int, Meta(ge=10, description="Time one hook has to answer.")] = 10_000
    block_timeout_ms: Annotated[
        int, Meta(ge=10, description="Time it may keep everything else waiting before it is interrupted.")
    ] = 2_000
    load_timeout_ms: Annotated[int, Meta(ge=10, description="Time an extension has to register itself.")] = (
        10_000
    )
