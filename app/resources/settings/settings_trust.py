"""The settings of permissions, the sandbox and secrets."""

from typing import Annotated, Literal

from msgspec import Meta

from app.resources.settings.settings_agent import SettingsGroup
from tools.box.host_groups import HOST_GROUPS


class PermissionSettings(SettingsGroup, frozen=True, kw_only=True):
    """What the agent may do unasked."""

    mode: Annotated[
        Literal["default", "read-only", "ask", "auto-edit", "full"],
        Meta(
            description="What runs without a question. `default`: on the full screen `auto-edit` in a trusted folder "
            "where commands run in a sandbox, else `ask`; elsewhere `full`.",
            extra={"global_only": True},
        ),
    ] = "default"
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Rules for what runs without a question, such as `bash: git push origin *`. Of a project they "
            "count only as the text that you said yes to.",
            extra={"is_merged_list": True, "runs": True},
        ),
    ] = ()
    allow_in: Annotated[
        dict[str, tuple[str, ...]],
        Meta(
            description="Rules of your own for single projects: what runs without a question there, by folder.",
            extra={"global_only": True},
        ),
    ] = {}  # noqa: RUF012  (frozen)
    ask: Annotated[
        tuple[str, ...],
        Meta(description="Rules for what is asked about in any mode.", extra={"is_merged_list": True}),
    ] = ()
    deny: Annotated[
        tuple[str, ...],
        Meta(
            description="Rules for what is never run, whatever else says so.", extra={"is_merged_list": True}
        ),
    ] = ()
    floor_exceptions: Annotated[
        tuple[str, ...],
        Meta(
            description="Parts of commands, word for word, that are taken out of the floor. For robots.",
            extra={"global_only": True, "is_merged_list": True},
        ),
    ] = ()
    timeout_seconds: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a program that drives bayou may take to answer such a question; then it is refused. "
            "0 means ten minutes.",
            extra={"global_only": True},
        ),
    ] = 0


class SandboxSettings(SettingsGroup, frozen=True, kw_only=True):
    """The box that the agent's commands run in."""

    mode: Annotated[
        Literal["auto", "off", "required"],
        Meta(
            description="`auto`: as far as this system can, unless everything may run unasked (`full`). `required`: in "
            "every mode, and nothing runs where not all of it can be had. `off`: never.",
            extra={"global_only": True},
        ),
    ] = "auto"
    network: Annotated[
        Literal["off", "listed", "open"],
        Meta(
            description="What commands in it reach: `off` only servers that the session started, `listed` these, "
            "and hosts that rules (`net: example.org:443`, `net: python packages`) or you allow, `open` everything. "
            "The groups: "
            + "; ".join(f"{name} ({', '.join(hosts)})" for name, hosts in HOST_GROUPS.items())
            + ".",
            extra={"global_only": True},
        ),
    ] = "listed"
    write: Annotated[
        tuple[str, ...],
        Meta(
            description="Folders and files outside the workspace that commands may change, such as `~/notes`.",
            extra={"global_only": True, "is_merged_list": True},
        ),
    ] = ()
    hide: Annotated[
        tuple[str, ...],
        Meta(
            description="More folders and files that commands do not see, such as `~/private`.",
            extra={"is_merged_list": True},
        ),
    ] = ()


class SecretSettings(SettingsGroup, frozen=True, kw_only=True):
    """Keys, tokens and passwords that neither the model nor the session gets to see."""

    mask: Annotated[
        bool,
        Meta(
            description="Mask secrets in results of tools, outputs of commands, prompts and exports.",
            extra={"global_only": True},
        ),
    ] = True
    patterns: Annotated[
        tuple[str, ...],
        Meta(
            description="Secrets of your own, each as `KIND: EXPRESSION`; its first group, or all of it, is masked.",
            extra={"global_only": True},
        ),
    ] = ()
    ignore: Annotated[
        tuple[str, ...],
        Meta(
            description="What is no secret, by the last part of its mark; `/secrets` adds to it.",
            extra={"global_only": True},
        ),
    ] = ()
