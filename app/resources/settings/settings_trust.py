"""The settings of permissions, the sandbox and secrets."""

from typing import Annotated, Literal

from msgspec import Meta

from app.resources.settings.settings_agent import SettingsGroup
from tools.box.host_groups import HOST_GROUPS


class PermissionSettings(SettingsGroup, frozen=True, kw_only=True):
    """What the agent may do without approval."""

    mode: Annotated[
        Literal["default", "read-only", "ask", "auto-edit", "full"],
        Meta(
            title="Permission mode",
            description="What runs without approval. `default`: on the full screen `auto-edit` in a trusted "
            "folder with a sandbox, else `ask`; without a screen `full`.",
            extra={"global_only": True},
        ),
    ] = "default"
    allow: Annotated[
        tuple[str, ...],
        Meta(
            title="Allow rules",
            description="Rules for what runs without approval, such as `bash: git push origin *`. A "
            "project's rules apply only as you trusted them.",
            extra={"is_merged_list": True, "runs": True},
        ),
    ] = ()
    allow_in: Annotated[
        dict[str, tuple[str, ...]],
        Meta(
            title="Allow rules per folder",
            description="Your rules for what runs without approval, by project folder.",
            extra={"global_only": True},
        ),
    ] = {}  # noqa: RUF012  (frozen)
    ask: Annotated[
        tuple[str, ...],
        Meta(
            title="Ask rules",
            description="Rules for what needs approval in every mode.",
            extra={"is_merged_list": True},
        ),
    ] = ()
    deny: Annotated[
        tuple[str, ...],
        Meta(
            title="Deny rules",
            description="Rules for what is always refused, even if another rule or mode allows it.",
            extra={"is_merged_list": True},
        ),
    ] = ()
    floor_exceptions: Annotated[
        tuple[str, ...],
        Meta(
            title="Dangerous command exceptions",
            description="Parts of commands, word for word, that are not treated as dangerous. For unattended runs.",
            extra={"global_only": True, "is_merged_list": True},
        ),
    ] = ()
    timeout_seconds: Annotated[
        int,
        Meta(
            ge=0,
            title="Approval timeout",
            description="Seconds that a program driving bayou has to answer an approval before it is "
            "refused; 0: ten minutes.",
            extra={"global_only": True},
        ),
    ] = 0


class SandboxSettings(SettingsGroup, frozen=True, kw_only=True):
    """The sandbox that the agent's commands run in."""

    mode: Annotated[
        Literal["auto", "off", "required"],
        Meta(
            title="Sandbox",
            description="Whether commands run in a sandbox. `auto`: if the system supports it, except in "
            "mode `full`. `required`: in every mode, and nothing runs without a complete "
            "sandbox. `off`: never.",
            extra={"global_only": True},
        ),
    ] = "auto"
    network: Annotated[
        Literal["off", "listed", "open"],
        Meta(
            title="Sandbox network",
            description="Hosts that commands in the sandbox can reach. `off`: only servers started in this session. "
            "`listed`: also hosts allowed by you or by rules (`net: example.org:443`, `net: python "
            "packages`). "
            "`open`: all hosts. "
            "Host groups: "
            + "; ".join(f"{name} ({', '.join(hosts)})" for name, hosts in HOST_GROUPS.items())
            + ".",
            extra={"global_only": True},
        ),
    ] = "listed"
    write: Annotated[
        tuple[str, ...],
        Meta(
            title="Writable folders",
            description="Folders and files outside the workspace that commands may change, such as `~/notes`.",
            extra={"global_only": True, "is_merged_list": True},
        ),
    ] = ()
    hide: Annotated[
        tuple[str, ...],
        Meta(
            title="Hidden folders",
            description="Additional folders and files that commands cannot see, such as `~/private`.",
            extra={"is_merged_list": True},
        ),
    ] = ()


class SecretSettings(SettingsGroup, frozen=True, kw_only=True):
    """Masking of keys, tokens and passwords."""

    mask: Annotated[
        bool,
        Meta(
            title="Mask secrets",
            description="Mask secrets in tool results, command output, prompts and exports.",
            extra={"global_only": True},
        ),
    ] = True
    patterns: Annotated[
        tuple[str, ...],
        Meta(
            title="Secret patterns",
            description="Your own secret patterns as `KIND: EXPRESSION`; the first group of a match, or the "
            "whole match, is masked.",
            extra={"global_only": True},
        ),
    ] = ()
    ignore: Annotated[
        tuple[str, ...],
        Meta(
            title="Ignored secrets",
            description="Values that are not secrets, by the id at the end of their mark `[secret:…]`; "
            "`/secrets` adds to this list.",
            extra={"global_only": True},
        ),
    ] = ()
