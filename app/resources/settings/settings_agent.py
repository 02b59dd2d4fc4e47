"""The settings of the agent: model, messages, tools, sessions, compaction, network, resources.

Each group describes its keys; `settings` composes the groups. The keys of `FLAT_SETTINGS_GROUPS` are at the top
level of the file, those of other groups under the group's key."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from app.values.models import ThinkingLevel


class SettingsGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of the groups of settings."""


class ThinkingBudgets(SettingsGroup, frozen=True, kw_only=True):
    """Thinking tokens per level, for providers that limit thinking by tokens."""

    minimal: Annotated[
        int,
        Meta(ge=0, title="Thinking tokens: minimal", description="Thinking tokens allowed at level minimal."),
    ] = 1024
    low: Annotated[
        int,
        Meta(ge=0, title="Thinking tokens: low", description="Thinking tokens allowed at level low."),
    ] = 2048
    medium: Annotated[
        int,
        Meta(ge=0, title="Thinking tokens: medium", description="Thinking tokens allowed at level medium."),
    ] = 8192
    high: Annotated[
        int,
        Meta(
            ge=0,
            title="Thinking tokens: high",
            description="Thinking tokens allowed at level high and above.",
        ),
    ] = 16384


class ModelSettings(SettingsGroup, frozen=True, kw_only=True):
    """The model of new sessions, thinking levels and the prompt cache."""

    default_provider: Annotated[
        str | None,
        Meta(
            title="Default provider",
            description="Provider of the model that a new session starts with; null: chosen by the available "
            "API keys.",
        ),
    ] = None
    default_model: Annotated[
        str | None,
        Meta(
            title="Default model",
            description="Model that a new session starts with, by id or pattern; null: chosen automatically.",
        ),
    ] = None
    default_thinking_level: Annotated[
        ThinkingLevel,
        Meta(
            title="Default thinking level",
            description="Thinking level of a new session; lowered if the model supports less.",
        ),
    ] = "medium"
    model_thinking_levels: Annotated[
        dict[str, ThinkingLevel],
        Meta(
            title="Thinking level per model",
            description="Thinking level by `provider/model`; overrides the default level.",
        ),
    ] = {}
    thinking_budgets: ThinkingBudgets = ThinkingBudgets()
    enabled_models: Annotated[
        tuple[str, ...] | None,
        Meta(
            title="Models for ctrl+p",
            description="Patterns of the models that ctrl+p cycles through; null: all models.",
        ),
    ] = None
    cache_retention: Annotated[
        Literal["short", "long"],
        Meta(
            title="Prompt cache duration",
            description="How long the provider is asked to keep the prompt cache.",
        ),
    ] = "short"
    show_cache_miss_notices: Annotated[
        bool,
        Meta(
            title="Cache miss notices",
            description="Show a notice when a request misses the prompt cache unexpectedly.",
        ),
    ] = False


class InteractionSettings(SettingsGroup, frozen=True, kw_only=True):
    """Queued messages, the external editor, Escape and the session tree."""

    steering_mode: Annotated[
        Literal["one-at-a-time", "all"],
        Meta(
            title="Steering messages at once",
            description="How many queued steering messages are sent to the agent at once.",
        ),
    ] = "one-at-a-time"
    follow_up_mode: Annotated[
        Literal["one-at-a-time", "all"],
        Meta(
            title="Follow-up messages at once",
            description="How many queued follow-up messages are sent to the agent at once.",
        ),
    ] = "one-at-a-time"
    interrupt_mode: Annotated[
        Literal["wait", "immediate"],
        Meta(
            title="Steering during tools",
            description="`wait`: steering messages wait until running tools end; `immediate`: remaining tool "
            "calls are skipped.",
        ),
    ] = "wait"
    external_editor: Annotated[
        str | None,
        Meta(
            title="External editor",
            description="Command of the editor opened for prompts and files; null: VISUAL, then EDITOR.",
            extra={"runs": True},
        ),
    ] = None
    double_escape_action: Annotated[
        Literal["tree", "fork", "none"],
        Meta(
            title="esc twice opens",
            description="What pressing Escape twice opens when the editor is empty.",
        ),
    ] = "tree"
    ctrl_c_stops: Annotated[
        bool,
        Meta(
            title="ctrl+c stops the agent",
            description="On an empty editor Ctrl+C stops the agent, and the second press quits.",
        ),
    ] = True
    tree_filter_mode: Annotated[
        Literal["default", "no-tools", "user-only", "labeled-only", "all"],
        Meta(title="Session tree filter", description="Which entries the session tree shows when it opens."),
    ] = "default"
    default_project_trust: Annotated[
        Literal["ask", "always", "never"],
        Meta(
            title="Trust new projects",
            description="Whether bayou uses the settings, extensions and commands of a project "
            "before you decided. `ask`: ask; without a screen they are ignored.",
            extra={"global_only": True},
        ),
    ] = "ask"


class ToolSettings(SettingsGroup, frozen=True, kw_only=True):
    """The tools of a new session."""

    default_tools: Annotated[
        tuple[str, ...] | None,
        Meta(
            title="Default tools",
            description="Tools of a new session. Plain names replace the default list; `+name` and `-name` "
            "change it; null: the default list.",
        ),
    ] = None


EditModeName = Literal["auto", "replace", "anchored", "patch", "hashline"]


class EditSettings(SettingsGroup, frozen=True, kw_only=True):
    """The format in which models write edits."""

    mode: Annotated[
        EditModeName,
        Meta(
            title="Edit format",
            description="How the model writes edits. `replace`: old and new text. `anchored` (or "
            "`hashline`): line anchors shown by reads. `patch`: apply_patch. `auto`: patch for "
            "models trained on it, else replace.",
        ),
    ] = "auto"
    models: Annotated[
        dict[str, EditModeName],
        Meta(
            title="Edit format per model",
            description="Edit format for models that match a `provider/model` pattern; the first match is "
            "used.",
        ),
    ] = {}
    streaming_abort: Annotated[
        bool,
        Meta(
            title="Stop at failing edits",
            description="Stop an answer as soon as one of its edits cannot be applied (the file or its old "
            "text is missing), to save the tokens of the rest.",
        ),
    ] = False


class BackgroundSettings(SettingsGroup, frozen=True, kw_only=True):
    """Delivery of the results of background jobs."""

    result_delivery: Annotated[
        Literal["steer", "followUp"],
        Meta(
            title="Job result delivery",
            description="When the agent gets a finished job's result. `steer`: before its next request. "
            "`followUp`: at the end of the run.",
        ),
    ] = "steer"


class FileMapSettings(SettingsGroup, frozen=True, kw_only=True):
    """Outlines of files that are read in part."""

    enabled: Annotated[
        bool,
        Meta(
            title="File outlines",
            description="Add an outline of the file when a read shows only a part of it.",
        ),
    ] = True
    time_limit_ms: Annotated[
        int,
        Meta(
            ge=50,
            le=60_000,
            title="Outline time limit",
            description="Milliseconds of parsing after which a simpler outline is used.",
        ),
    ] = 2000
    max_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            le=102_400,
            title="Outline size limit",
            description="Largest outline in bytes that is sent to the model.",
        ),
    ] = 8192


class RepositoryMapSettings(SettingsGroup, frozen=True, kw_only=True):
    """The map of the repository's files and symbols."""

    enabled: Annotated[
        bool,
        Meta(
            title="Repository map",
            description="Index the repository's symbols and words when the map is first used.",
        ),
    ] = True
    first_question: Annotated[
        Literal["off", "auto"],
        Meta(
            title="Map in the first prompt",
            description="`auto` adds likely files to your first prompt if the map is confident and the "
            "folder has more than 200 code files.",
        ),
    ] = "off"


class TodoSettings(SettingsGroup, frozen=True, kw_only=True):
    """The agent's todo list."""

    enabled: Annotated[
        Literal["auto", "on", "off"],
        Meta(
            title="Todo tool",
            description="Give the agent the `todo` tool. `auto`: unless the model plans without it "
            "(`plansByItself` in its `compat`).",
        ),
    ] = "auto"
    reminders: Annotated[
        bool,
        Meta(
            title="Todo reminders",
            description="Remind the agent of open todos before it stops, at most once per prompt.",
        ),
    ] = True


class SessionSettings(SettingsGroup, frozen=True, kw_only=True):
    """Location and safety of session files."""

    session_dir: Annotated[
        str | None,
        Meta(
            title="Session folder",
            description="Folder for session files; null: in bayou's own folder.",
            extra={"runs": True},
        ),
    ] = None
    session_sync: Annotated[
        Literal["off", "turn", "entry"],
        Meta(
            title="Session file sync",
            description="When session files are forced to disk. `off`: by the system. `turn`: at the end of "
            "each turn. `entry`: after each entry.",
        ),
    ] = "turn"


class UndoSettings(SettingsGroup, frozen=True, kw_only=True):
    """What is stored so that /undo and /redo can restore files."""

    enabled: Annotated[
        bool,
        Meta(
            title="Record file changes",
            description="Store files before the agent changes them, so that /undo can restore them.",
        ),
    ] = True
    commands: Annotated[
        bool,
        Meta(
            title="Record command changes",
            description="Compare the folder before and after each command, so that /undo can restore what "
            "commands changed.",
        ),
    ] = True
    max_file_mb: Annotated[
        int,
        Meta(
            ge=1,
            le=1024,
            title="Undo file size limit",
            description="Larger files are not stored, so their changes cannot be undone.",
        ),
    ] = 32
    max_store_mb: Annotated[
        int,
        Meta(
            ge=16,
            title="Undo storage limit",
            description="Storage for undo of all sessions together; the oldest sessions are deleted first, "
            "open ones never.",
        ),
    ] = 1024
    days: Annotated[
        int,
        Meta(
            ge=1,
            title="Keep undo data",
            description="Days after a session's last use when its undo data is deleted.",
        ),
    ] = 30
    on_tree_move: Annotated[
        Literal["ask", "keep", "restore"],
        Meta(
            title="Files on tree moves",
            description="What happens to files when you move in the session tree. `ask`: ask. `keep`: leave "
            "them. `restore`: preview restoring them.",
        ),
    ] = "ask"


class ModelCompactionSettings(SettingsGroup, frozen=True, kw_only=True):
    """Compaction limits of one model; null uses the general limit."""

    reserve_tokens: Annotated[int, Meta(ge=0)] | None = None
    keep_recent_tokens: Annotated[int, Meta(ge=0)] | None = None


class CompactionSettings(SettingsGroup, frozen=True, kw_only=True):
    """Summarising the conversation when the context window fills."""

    mode: Annotated[
        Literal["off", "remind", "auto"],
        Meta(
            title="Compaction",
            description="When the context is summarised. `auto`: automatically. `remind`: only a notice. "
            "`off`: never, even when the window overflows.",
        ),
    ] = "auto"
    reserve_tokens: Annotated[
        int,
        Meta(
            ge=0,
            title="Compaction reserve tokens",
            description="Tokens kept free for the answer; compaction starts when less is left.",
        ),
    ] = 16384
    keep_recent_tokens: Annotated[
        int,
        Meta(
            ge=0,
            title="Tokens kept unsummarised",
            description="Latest tokens of the conversation that compaction does not summarise.",
        ),
    ] = 20000
    model: Annotated[
        str | None,
        Meta(
            title="Summary model",
            description="`provider/model` that writes summaries; null: the session's model.",
        ),
    ] = None
    model_overrides: Annotated[
        dict[str, ModelCompactionSettings],
        Meta(title="Compaction limits per model", description="Reserve and kept tokens by `provider/model`."),
    ] = {}


class BranchSummarySettings(SettingsGroup, frozen=True, kw_only=True):
    """Summaries of branches when you leave them in the session tree."""

    reserve_tokens: Annotated[
        int,
        Meta(
            ge=0,
            title="Branch summary reserve tokens",
            description="Tokens kept free when a branch is summarised.",
        ),
    ] = 16384
    skip_prompt: Annotated[
        bool,
        Meta(
            title="Skip branch summary question",
            description="Leave a branch without asking whether to summarise it.",
        ),
    ] = False


class NetworkSettings(SettingsGroup, frozen=True, kw_only=True):
    """Proxy, timeouts and automatic requests."""

    http_proxy: Annotated[
        str | None,
        Meta(
            title="HTTP proxy",
            description="Proxy for all requests; null: HTTPS_PROXY and HTTP_PROXY.",
            extra={"global_only": True},
        ),
    ] = None
    first_event_timeout_ms: Annotated[
        int,
        Meta(
            ge=0,
            title="First response timeout",
            description="Milliseconds to wait for the start of a response before the request fails; 0: no "
            "limit.",
        ),
    ] = 300_000
    http_idle_timeout_ms: Annotated[
        int,
        Meta(
            ge=0,
            title="Idle response timeout",
            description="Milliseconds that a response may pause before the request fails; 0: no limit.",
        ),
    ] = 300_000
    offline: Annotated[
        bool,
        Meta(
            title="Offline mode",
            description="Make no automatic requests, such as model lists and update checks.",
        ),
    ] = False


class RetrySettings(SettingsGroup, frozen=True, kw_only=True):
    """Retries of failed requests."""

    enabled: Annotated[
        bool, Meta(title="Automatic retry", description="Retry a request after a temporary error.")
    ] = True
    max_retries: Annotated[
        int,
        Meta(ge=0, le=100, title="Maximum retries", description="Maximum number of retries of one request."),
    ] = 3
    base_delay_ms: Annotated[
        int,
        Meta(
            ge=0,
            title="First retry delay",
            description="Milliseconds before the first retry; each further delay is twice as long.",
        ),
    ] = 2000
    max_agent_delay_ms: Annotated[
        int,
        Meta(
            ge=0,
            title="Longest retry delay",
            description="Longest delay between two retries in milliseconds.",
        ),
    ] = 60_000


class ResourceSettings(SettingsGroup, frozen=True, kw_only=True):
    """Additional extensions, skills, prompt templates and themes. Global and project lists add up."""

    extensions: Annotated[
        tuple[str, ...],
        Meta(
            title="Extensions",
            description="Additional extension files or folders. `-builtin:file-maps` or `-NAME` disables one.",
            extra={"is_merged_list": True, "runs": True},
        ),
    ] = ()
    skills: Annotated[
        tuple[str, ...],
        Meta(
            title="Skill folders",
            description="Additional folders with skills.",
            extra={"is_merged_list": True},
        ),
    ] = ()
    prompts: Annotated[
        tuple[str, ...],
        Meta(
            title="Prompt templates",
            description="Additional prompt templates, or folders with them.",
            extra={"is_merged_list": True},
        ),
    ] = ()
    themes: Annotated[
        tuple[str, ...],
        Meta(
            title="Theme files",
            description="Additional theme files, or folders with them.",
            extra={"is_merged_list": True},
        ),
    ] = ()
    enable_skill_commands: Annotated[
        bool, Meta(title="Skill commands", description="Offer every skill as the command `/skill:name`.")
    ] = True


class AgentRuleSettings(SettingsGroup, frozen=True, kw_only=True):
    """Rule files that instruct the agent."""

    enabled: Annotated[
        bool,
        Meta(
            title="Rules",
            description="Read rules from `.bayou/rules` and from the rule folders of other tools.",
        ),
    ] = True
    sources: Annotated[
        tuple[Literal["native", "cursor", "windsurf", "cline"], ...],
        Meta(title="Rule sources", description="Tools whose rule folders are read."),
    ] = ("native", "cursor", "windsurf", "cline")
    interrupt: Annotated[
        bool,
        Meta(
            title="Rules stop answers",
            description="Let a rule with a condition stop an answer that breaks it.",
        ),
    ] = True
    repeat_gap_turns: Annotated[
        int,
        Meta(
            ge=0,
            title="Turns between rule stops",
            description="Turns before the same rule may stop an answer again; 0: once per session.",
        ),
    ] = 10


class ExtensionSettings(SettingsGroup, frozen=True, kw_only=True):
    """Time limits for extensions."""

    hook_timeout_ms: Annotated[
        int,
        Meta(ge=10, title="Hook timeout", description="Milliseconds that an extension's hook has to answer."),
    ] = 10_000
    block_timeout_ms: Annotated[
        int,
        Meta(
            ge=10,
            title="Blocking limit",
            description="Milliseconds that an extension may block bayou before it is interrupted.",
        ),
    ] = 2_000
    load_timeout_ms: Annotated[
        int,
        Meta(
            ge=10, title="Load timeout", description="Milliseconds that an extension has to register itself."
        ),
    ] = 10_000
