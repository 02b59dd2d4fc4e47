"""Exports everything that an extension may import: `from app.extensions.public import ExtensionApi, View,
ToolResult`.

bayou's own extensions import this module and nothing else of the extension system. What is not imported here
may change without notice.
"""

from app.compaction.touched_files import FileLists
from app.extensions.api import ExtensionApi
from app.extensions.extension_programs import ExecResult, run_program
from app.extensions.extension_registrations import (
    Command,
    Completion,
    NotReady,
    StaleExtension,
)
from app.extensions.extension_views import View, as_view, view_data, view_text
from app.extensions.handler_contexts import CommandContext, Context, ToolCallContext
from app.extensions.hooks.payloads import (
    AfterProviderResponse,
    Answer,
    BashResult,
    BeforeAgentStart,
    BeforeAgentStartAnswer,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    BoundaryAnswer,
    CancelAnswer,
    CompactAnswer,
    CompactionText,
    ContextAnswer,
    ContextPayload,
    Diagnose,
    DiagnoseAnswer,
    Draft,
    FileToDiagnose,
    FoundProblem,
    Input,
    InputAnswer,
    MessageAnswer,
    MessageEnded,
    PayloadAnswer,
    ProjectTrust,
    QuestionWaits,
    ResourcePaths,
    ResourcesDiscover,
    SessionBeforeCompact,
    SessionBeforeFork,
    SessionBeforeSwitch,
    SessionBeforeTree,
    SessionShutdown,
    SessionStart,
    Spawn,
    SpawnAnswer,
    ToolCallAnswer,
    ToolCallPayload,
    ToolResultAnswer,
    ToolResultPayload,
    TreeAnswer,
    TreeSummary,
    TrustAnswer,
    TurnEnded,
    UserBash,
    UserBashAnswer,
)
from app.extensions.loading.api_version import API_VERSION
from app.extensions.ui_protocol import DeliverAs, ProviderSpec
from app.providers.model_stream import Credential
from app.providers.secret_references import CredentialError
from app.providers.signin.interface import SignIn, SignInUi
from app.values.content import Image, Text, ToolCall, text_of
from app.values.entries import CompactionEntry, CustomEntry
from app.values.mcp_servers import ServerView, ToolView
from app.values.messages import AssistantMessage, CustomMessage, ToolResultMessage, UserMessage
from app.values.models import Model
from app.values.stream import (
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from tools.call_effects import Effects
from tools.file_and_process_operations import (
    CommandLine,
    DirectoryEntry,
    FileOperations,
    FileStat,
    ProcessOperations,
    RunningProcess,
)
from tools.running.local_processes import LocalProcesses
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import (
    Card,
    CommandBlock,
    DiffBlock,
    FileBlock,
    ListBlock,
    MapBlock,
    MapSymbol,
    MarkdownBlock,
    TableBlock,
    TextBlock,
    TextPart,
    ToolResult,
    TreeBlock,
    TreeNode,
    text_result,
)
