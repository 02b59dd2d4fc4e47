"""Dangerous programs, which a sandbox cannot limit: privileges, code that runs later, shared services, data loss."""

import re
from typing import Final

from app.permits.command_findings import RiskFinding, contained_risk_finding, forbidden_risk_finding
from app.permits.programs.program_calls import (
    JudgeProgram,
    ProgramCall,
    ProgramTable,
    build_program_table,
    make_constant_judge,
    make_verb_judge,
)
from app.permits.programs.program_options import parse_known_options, parse_program_options
from app.permits.shell_words import UNKNOWN_TEXT_MARK, ShellWord, parse_word_set

_judge_privilege_gain: Final = make_constant_judge(forbidden_risk_finding("runs as another user"))
_judge_autorun_change: Final = make_constant_judge(forbidden_risk_finding("changes files that run later"))
_judge_system_change: Final = make_constant_judge(forbidden_risk_finding("changes the system"))


def make_forbidden_verbs_judge(verbs: str, why: str, *, bare: bool = False) -> JudgeProgram:
    """Returns a judge that forbids calls with these verbs."""
    return make_verb_judge(verbs, why, forbidden_risk_finding, bare=bare)


def _judge_all_verbs_forbidden_except(verbs: str, why: str) -> JudgeProgram:
    """Returns a judge that forbids calls with any other verb than these; asking for help is allowed."""
    known = parse_word_set(verbs)

    def judge(call: ProgramCall) -> list[RiskFinding]:
        said = [word.text for word in call.words if not word.text.startswith("-") or word.text in known]
        if not said or {said[0], "-".join(said[:2])} & known:
            return []
        return [forbidden_risk_finding(f"{call.name} {' '.join(said[:2])} {why}")]

    return judge


_SHARED_SERVICE_REASON: Final = "acts for you on what others use"
_CLOUD_CLI_READING_VERBS: Final = re.compile(
    r"(list|ls|get|describe|show|head|view|status|whoami|search|lookup|batch-get|scan|query|filter|tail|logs|info|version|help"
    r"|cp|sync|config|configure|sso|login)(-.*|s)?"
)


def _judge_cloud_cli(call: ProgramCall) -> list[RiskFinding]:
    """Judges `aws`, `gcloud`, `az`: every verb that does not clearly read is treated as a change."""
    said = [word.text for word in call.words if not word.text.startswith("-")]
    tells = any(
        word in ("get-secret-value", "print-access-token", "get-login-password", "secrets") for word in said
    )
    if tells or (len(said) > 1 and not any(_CLOUD_CLI_READING_VERBS.fullmatch(word) for word in said[1:4])):
        return [forbidden_risk_finding(f"{call.name} {' '.join(said[:3])} {_SHARED_SERVICE_REASON}")]
    return []


_GITHUB_CLI_READING_VERBS: Final = parse_word_set(
    "view list status diff checks ls show search browse clone checkout download get watch"
)


def _judge_github_cli(call: ProgramCall) -> list[RiskFinding]:
    """Judges `gh`, `glab`: what other people will see is dangerous."""
    taken = parse_program_options(
        call.words,
        parse_known_options(
            "R= repo= q= jq= X= method= f= F= field= raw-field= input= H= t= L= limit= json="
        ),
    )
    said = [word.text for word in taken.operands]
    if not said or said[0] in parse_word_set("help version completion status search browse extension alias"):
        return []
    if said[0] == "api":
        method = (taken.option_values("X", "method") or [ShellWord("GET")])[-1].text.upper()
        fields = [value.text for value in taken.option_values("f", "F", "field", "raw-field")]
        is_query = "graphql" in said and not any(
            "mutation" in text or UNKNOWN_TEXT_MARK in text for text in fields
        )
        changes = method != "GET" or (
            (fields or taken.has_option("input")) and not is_query and not taken.has_option("X", "method")
        )
        return [forbidden_risk_finding("sends a request that changes data on a server")] if changes else []
    if said[0] == "auth" and said[1:2] == ["status"]:
        return []
    if len(said) < 2 or said[1] in _GITHUB_CLI_READING_VERBS:
        return []
    return [forbidden_risk_finding(f"{call.name} {' '.join(said[:2])} {_SHARED_SERVICE_REASON}")]


def _judge_docker(call: ProgramCall) -> list[RiskFinding]:
    """Judges `docker`: pushing images, deleting volumes and giving containers access to the machine are dangerous."""
    joined = " ".join(word.text for word in call.words)
    found = make_forbidden_verbs_judge(
        "push system-prune volume-prune volume-rm image-push compose-push manifest-push buildx-prune "
        "swarm secret stack "
        "service node context",
        _SHARED_SERVICE_REASON,
    )(call)
    if re.search(
        r"(?:^| )(?:--privileged|--cap-add|--device|--security-opt|--volumes-from|--push)\b", joined
    ):
        found.append(forbidden_risk_finding("gives a container access to the machine, or publishes an image"))
    if re.search(r"--(?:pid|ipc|uts|userns|cgroupns|network|net)[= ]host\b", joined):
        found.append(forbidden_risk_finding("gives a container access to the machine"))
    for path in re.findall(r"(?:^| )(?:-v|--volume|--mount)[ =](?:\S*?(?:src|source)=)?([^\s:,]+)", joined):
        if path.startswith(("/", ".", "~")) and (
            "docker.sock" in path or call.ground.may_be_outside_workspace(ShellWord(path))
        ):
            found.append(
                forbidden_risk_finding(f"gives a container access to {call.ground.display_path(path)}")
            )
    return found


def _judge_crontab(call: ProgramCall) -> list[RiskFinding]:
    lists = [word.text for word in call.words] == ["-l"]
    return [
        contained_risk_finding("lists scheduled commands (cron)")
        if lists
        else forbidden_risk_finding("changes files that run later")
    ]


_PUBLISHING_REASON: Final = "publishes, or acts for you on what others use"
DANGEROUS_PROGRAMS: ProgramTable = build_program_table(
    (
        "su pkexec runuser chroot nsenter setpriv sudoedit visudo gosu run0 newgrp sg machinectl",
        _judge_privilege_gain,
    ),
    (
        "mkfs mkfs.ext4 mkfs.ext3 mkfs.xfs mkfs.btrfs mkfs.vfat mke2fs mkswap fdisk parted sfdisk gdisk wipefs hdparm "
        "cryptsetup lvremove vgremove pvremove mdadm zpool zfs diskutil losetup blkdiscard mknod",
        make_constant_judge(forbidden_risk_finding("changes disks or partitions")),
    ),
    (
        "reboot shutdown halt poweroff init telinit kexec",
        make_constant_judge(forbidden_risk_finding("shuts down or restarts the machine")),
    ),
    (
        "useradd userdel usermod groupadd groupdel adduser deluser passwd chpasswd chsh vipw gpasswd",
        _judge_system_change,
    ),
    (
        "iptables ip6tables nft ufw firewall-cmd pfctl tc modprobe insmod rmmod setenforce update-alternatives",
        _judge_system_change,
    ),
    ("launchctl at batch atrm systemd-run husky simple-git-hooks", _judge_autorun_change),
    ("crontab", _judge_crontab),
    (
        "systemctl",
        _judge_all_verbs_forbidden_except(
            "status show cat is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets",
            "changes services",
        ),
    ),
    ("service rc-service", _judge_all_verbs_forbidden_except("--status-all", "changes services")),
    ("mount umount", _judge_all_verbs_forbidden_except("", "changes disks or partitions")),
    (
        "dpkg rpm snap flatpak port",
        _judge_all_verbs_forbidden_except(
            "-l -L -S -s -q -qa -ql -qi list info search", "changes the system"
        ),
    ),
    (
        "apt apt-get aptitude dnf yum apk pacman zypper",
        _judge_all_verbs_forbidden_except(
            "list search show info policy download source changelog depends", "changes the system"
        ),
    ),
    (
        "pre-commit lefthook",
        make_forbidden_verbs_judge("install uninstall init-templatedir", "changes what git runs later"),
    ),
    ("direnv", make_forbidden_verbs_judge("allow permit grant", "lets a folder run code later")),
    (
        "mail mailx sendmail mutt msmtp wall",
        make_constant_judge(forbidden_risk_finding("sends a message to other people")),
    ),
    (
        "ngrok localtunnel lt cloudflared tmate",
        make_constant_judge(forbidden_risk_finding("opens this machine to the network")),
    ),
    # Publishing, and services with credentials
    (
        "npm pnpm yarn bun",
        make_forbidden_verbs_judge(
            "publish unpublish deprecate dist-tag owner access token adduser", _PUBLISHING_REASON
        ),
    ),
    ("lerna changeset", make_forbidden_verbs_judge("publish version", _PUBLISHING_REASON)),
    ("twine", make_forbidden_verbs_judge("upload register", _PUBLISHING_REASON)),
    ("poetry pdm hatch flit uv", make_forbidden_verbs_judge("publish", _PUBLISHING_REASON)),
    ("cargo", make_forbidden_verbs_judge("publish yank owner login", _PUBLISHING_REASON)),
    ("gem", make_forbidden_verbs_judge("push yank owner signin", _PUBLISHING_REASON)),
    ("dotnet nuget", make_forbidden_verbs_judge("nuget-push nuget-delete push delete", _PUBLISHING_REASON)),
    ("mix", make_forbidden_verbs_judge("hex.publish", _PUBLISHING_REASON)),
    (
        "mvn mvnw gradle gradlew sbt",
        make_forbidden_verbs_judge("deploy publish release:perform uploadArchives", _PUBLISHING_REASON),
    ),
    ("vsce ovsx", make_forbidden_verbs_judge("publish unpublish login", _PUBLISHING_REASON)),
    ("docker podman", _judge_docker),
    ("gh glab", _judge_github_cli),
    ("aws gcloud az", _judge_cloud_cli),
    (
        "kubectl oc",
        _judge_all_verbs_forbidden_except(
            "get describe logs top version api-resources api-versions cluster-info explain events diff auth wait "
            "config-view config-get-contexts config-current-context port-forward kustomize completion",
            _SHARED_SERVICE_REASON,
        ),
    ),
    (
        "helm",
        _judge_all_verbs_forbidden_except(
            "lint template version show search list ls status get history repo dependency create package env",
            _SHARED_SERVICE_REASON,
        ),
    ),
    (
        "terraform tofu pulumi cdk",
        make_forbidden_verbs_judge(
            "apply destroy up deploy import taint state-rm state-mv", _SHARED_SERVICE_REASON
        ),
    ),
    ("ansible-playbook ansible", _judge_all_verbs_forbidden_except("", _SHARED_SERVICE_REASON)),
    (
        "heroku flyctl fly railway render doctl",
        _judge_all_verbs_forbidden_except(
            "apps logs ps status info list version whoami releases", _SHARED_SERVICE_REASON
        ),
    ),
    (
        "netlify wrangler firebase serverless sls",
        make_forbidden_verbs_judge("deploy publish delete rm remove env secret", _SHARED_SERVICE_REASON),
    ),
    (
        "vercel",
        make_forbidden_verbs_judge("deploy remove rm env secrets domains", _SHARED_SERVICE_REASON, bare=True),
    ),
)
