"""Judges network commands: that they reach another machine, and which hosts their words name."""

import itertools
import re
from typing import Final

from app.permits.command_findings import (
    READS_ONLY_FINDING,
    RiskFinding,
    contained_risk_finding,
    network_risk_finding,
)
from app.permits.host_names import is_ip_address, normalize_host
from app.permits.path_effects import file_name_of_path
from app.permits.programs.plain_requests import downloaded_file_names
from app.permits.programs.program_calls import (
    JudgeProgram,
    ProgramCall,
    ProgramTable,
    build_program_table,
    make_verb_judge,
)
from app.permits.programs.program_options import parse_known_options, parse_program_options
from app.permits.shell_words import UNKNOWN_TEXT_MARK, ShellWord

_PORT_BY_URL_SCHEME: Final = {
    "http": "80",
    "ftp": "21",
    "ssh": "22",
    "scp": "22",
    "sftp": "22",
    "rsync": "873",
    "git": "9418",
}


def host_and_port_of_address(text: str) -> str | None:
    """Returns `host:port` of a URL or an address; None if it is unknown. A user name ends before the path, as in
    RFC 3986."""
    found = re.match(
        r"(?:([a-z][a-z0-9+.-]*)://)?(?:[^/?#\\@]*@)*(\[[^\]/?#\\]+\]|[^/:?#\\]+)(?::(\d+))?",
        text,
        re.IGNORECASE,
    )
    if not found or UNKNOWN_TEXT_MARK in found[2]:
        return None
    port = found[3] or ("80" if found[1] is None else _PORT_BY_URL_SCHEME.get(found[1].casefold(), "443"))
    return f"{found[2].casefold()}:{port}"


_CURL_OPTIONS: Final = (
    "o= output= d= data= data-binary= data-raw= data-urlencode= json= F= form= b= cookie= c= cookie-jar= D= "
    "dump-header= H= header= X= request= u= user= A= user-agent= e= referer= m= max-time= "
    "connect-timeout= x= proxy= E= "
    "cert= key= cacert= resolve= retry= w= write-out= url= r= range= K= config= T= upload-file= retry-delay= "
    "max-redirs= limit-rate= unix-socket= output-dir= data-ascii= stderr= trace= trace-ascii="
)
_WGET_OPTIONS: Final = (
    "O= output-document= o= output-file= a= P= directory-prefix= i= input-file= post-file= post-data= method= header= "
    "append-output= user= password= U= user-agent= t= tries= T= timeout= w= wait= Q= l= level= A= R= D= B= e="
)
_CURL_AND_WGET_WRITING_OPTIONS: Final = (
    *("o", "output", "O", "output-document", "c", "cookie-jar", "D", "dump-header", "a", "append-output"),
    *("output-file", "stderr", "trace", "trace-ascii"),
)
"""Options whose value is a file that the program writes."""


def _judge_curl_and_wget(call: ProgramCall) -> list[RiskFinding]:
    options = _WGET_OPTIONS if call.name.startswith("wget") else _CURL_OPTIONS
    taken = parse_program_options(call.words, parse_known_options(options))
    found = [network_risk_finding(f"{call.name} uses the network")]
    found += [_judge_downloaded_file(call, ShellWord(name)) for name in downloaded_file_names(call, taken)]
    for word in [*taken.operands, *taken.option_values("url")]:
        if word.text.casefold().startswith("file:"):
            found.append(
                call.ground.judge_read(
                    ShellWord(re.sub(r"^file:(//[^/]*)?", "", word.text, flags=re.IGNORECASE))
                )
            )
            continue
        host = host_and_port_of_address(word.text)
        call.hosts += [host] if host else []
    for value in taken.option_values("F", "form", "data-urlencode"):
        found += [
            call.ground.judge_secret_path(ShellWord(one)) for one in re.findall(r"[@<]([^;,]+)", value.text)
        ]
    for value in taken.option_values(*_CURL_AND_WGET_WRITING_OPTIONS):
        found.append(_judge_downloaded_file(call, value))
    for folder in taken.option_values("output-dir"):
        for value in taken.option_values("o", "output"):
            found.append(
                _judge_downloaded_file(
                    call, ShellWord(f"{folder.text}/{value.text}", folder.may_split or value.may_split)
                )
            )
    return [*found, *_judge_written_autorun_files(call, options)]


def _judge_written_autorun_files(call: ProgramCall, known: str = "") -> list[RiskFinding]:
    """Judges the values of other options as files that are written, where these would run later."""
    row, found = parse_known_options(known), list[RiskFinding]()
    for before, word in itertools.pairwise((ShellWord(call.name), *call.words)):
        given = re.fullmatch(r"--([\w-]+)=(.*)|-(\w)(.+)", word.text, re.DOTALL)
        apart = re.fullmatch(r"--([\w-]+)|-\w*(\w)", before.text)
        if given and (given[1] or given[3]) not in (*row.long_options, *row.short_options):
            found.append(call.ground.judge_write(ShellWord(given[2] or given[4] or "")))
        elif apart and (apart[1] or apart[2]) not in (*row.long_options, *row.short_options):
            found.append(call.ground.judge_write(word))
    return [one for one in found if one.risk == "forbidden"]


def _judge_downloaded_file(call: ProgramCall, file: ShellWord) -> RiskFinding:
    """Judges writing a downloaded file; in the workspace that is part of the network command."""
    if file.text == "-":
        return READS_ONLY_FINDING
    found = call.ground.judge_write(file)
    if found.risk == "contained" and not (file.is_unknown or call.ground.may_be_outside_workspace(file)):
        return network_risk_finding(found.why)
    return found


_SSH_OPTIONS: Final = "B= b= c= D= E= e= F= I= i= J= L= l= m= O= o= p= P= Q= R= S= W= w= t T N f v q A Y"


def _judge_ssh(call: ProgramCall) -> list[RiskFinding]:
    """Judges `ssh` and `sftp` by their options, which may also follow the host; other words are a remote command.
    The key file of `-i` is used and not shown."""
    call.is_read_whole = True
    known = parse_known_options(f"{_SSH_OPTIONS} {'X= s=' if call.name == 'sftp' else 'X s'}")
    taken = parse_program_options(call.words, known, stops_early=True)
    found = [network_risk_finding("ssh connects to another machine")]
    for option in (
        *taken.options,
        *parse_program_options(taken.operands[1:], known, stops_early=True).options,
    ):
        if option.value is not None and option.name != "i":
            found.append(call.ground.judge_secret_path(option.value))
    if taken.operands and taken.operands[0].is_literal:
        ports = taken.option_values("P" if call.name == "sftp" else "p")
        port = next((value.text for value in ports if value.is_literal), "22")
        call.hosts += _hosts_of_operand(taken.operands[0], port)
    return found


def _hosts_of_operand(word: ShellWord, port: str) -> list[str]:
    if "://" not in word.text:
        return [f"{word.text.rpartition('@')[2].casefold()}:{port}"]
    host = host_and_port_of_address(word.text)
    return [host] if host else []


_REMOTE_PATH_OR_URL: Final = re.compile(
    r"(?:[^/]*@)?(\[[^\]/\ue000-\uf8ff]+\]|[^/:@\[\]\s\ue000-\uf8ff]+):(?!//)|\w+://"
)


def _judge_copy(call: ProgramCall) -> list[RiskFinding]:
    """Judges `scp`, `rsync`: a path on another machine uses the network."""
    shared = "i= F= S= c= l= o= J= D= e= rsh= exclude= include= port="
    taken = parse_program_options(
        call.words, parse_known_options(f"P= {shared}" if call.name == "scp" else shared)
    )
    operands = taken.operands
    remote = [(word, address) for word in operands if (address := _REMOTE_PATH_OR_URL.match(word.text))]
    ports = taken.option_values("P") if call.name == "scp" else []
    for word, address in remote:
        named = ShellWord(address[1]) if address[1] else word
        call.hosts += _hosts_of_operand(named, ports[0].text if ports else "22")
    if call.name == "rsync" and not remote and not any(word.is_unknown for word in operands):
        return [contained_risk_finding("copies files")]
    found = [network_risk_finding("copies from or to another machine")]
    if operands and not _REMOTE_PATH_OR_URL.match(operands[-1].text):
        names = [file_name_of_path(word.text.rpartition(":")[2]) for word in operands[:-1]]
        target = operands[-1]
        found += [_judge_downloaded_file(call, target)]
        found += [
            _judge_downloaded_file(call, ShellWord(f"{target.text.rstrip('/')}/{name}", target.may_split))
            for name in names
            if name
        ]
    return found


def _judge_host_arguments(call: ProgramCall) -> list[RiskFinding]:
    for word in call.words:
        if word.text.startswith("-") or not word.is_literal:
            continue
        host = (
            f"{word.text.casefold()}:0" if is_ip_address(word.text) else host_and_port_of_address(word.text)
        )
        if host and "://" not in word.text:
            host = f"{host.rpartition(':')[0]}:0"
            is_number = word.text.isdecimal() and not is_ip_address(word.text)
            if is_number or not re.search(r"\w\.\w|^localhost$|:", normalize_host(host.rpartition(":")[0])):
                continue
        call.hosts += [host] if host else []
    return [network_risk_finding(f"{call.name} uses the network"), *_judge_written_autorun_files(call)]


_PIP_FILE_READING_OPTIONS: Final = (
    "r= requirement= c= constraint= e= editable= python= find-links= f= cert= client-cert="
)


def _judge_pip(call: ProgramCall) -> list[RiskFinding]:
    return [
        *_judge_package_manager("install download wheel search index")(call),
        *_judge_written_autorun_files(call, _PIP_FILE_READING_OPTIONS),
    ]


def _judge_package_manager(verbs: str, *, bare: bool = False) -> JudgeProgram:
    """Returns a judge for a package manager that uses the network for these verbs."""
    return make_verb_judge(verbs, "uses the network", network_risk_finding, bare=bare)


def _judge_python_m_pip(call: ProgramCall) -> list[RiskFinding]:
    """Judges `python -m pip install`."""
    texts = [word.text for word in call.words]
    at = texts.index("-m") if "-m" in texts else len(texts)
    fetches = texts[at + 1 : at + 2] == ["pip"] and {"install", "download", "wheel", "search", "index"} & set(
        texts
    )
    return [network_risk_finding("pip uses the network")] if fetches else []


_JS_PACKAGE_MANAGER_VERBS: Final = (
    "install i add ci update up upgrade outdated audit view info search exec dlx create init x "
    "publish login dedupe"
)
NETWORK_PROGRAMS: ProgramTable = build_program_table(
    ("curl wget wget2", _judge_curl_and_wget),
    ("ssh mosh autossh sftp", _judge_ssh),
    ("scp rsync", _judge_copy),
    (
        "nc ncat netcat socat telnet ftp lftp ping ping6 dig nslookup host traceroute whois",
        _judge_host_arguments,
    ),
    ("http https xh aria2c yt-dlp", _judge_host_arguments),
    ("pip pip3", _judge_pip),
    ("pipx", _judge_package_manager("install upgrade upgrade-all run inject")),
    (
        "uv",
        _judge_package_manager("sync add lock pip-install pip-sync pip-compile tool python-install publish"),
    ),
    ("uvx npx pnpx bunx", _judge_host_arguments),
    ("poetry pdm pipenv hatch", _judge_package_manager("install add update lock sync self publish search")),
    ("conda mamba micromamba", _judge_package_manager("install create update env upgrade search")),
    ("npm", _judge_package_manager(_JS_PACKAGE_MANAGER_VERBS)),
    ("pnpm", _judge_package_manager(_JS_PACKAGE_MANAGER_VERBS, bare=True)),
    ("yarn bun", _judge_package_manager(_JS_PACKAGE_MANAGER_VERBS, bare=True)),
    ("deno", _judge_package_manager("add install cache upgrade outdated update")),
    ("cargo", _judge_package_manager("install add update fetch search publish login yank owner")),
    (
        "rustup",
        _judge_package_manager("update install toolchain-install target-add component-add self-update"),
    ),
    ("go", _judge_package_manager("get install mod-download mod-tidy")),
    ("gem", _judge_package_manager("install update fetch search outdated push")),
    ("bundle bundler", _judge_package_manager("install update add outdated", bare=True)),
    (
        "composer",
        _judge_package_manager("install require update outdated create-project global search", bare=True),
    ),
    ("dotnet", _judge_package_manager("restore add tool workload nuget new-install")),
    ("brew", _judge_package_manager("install upgrade update tap fetch search bundle reinstall")),
    (
        "apt apt-get aptitude dnf yum apk pacman zypper",
        _judge_package_manager("update upgrade install download search source add"),
    ),
    ("docker podman", _judge_package_manager("pull push login search compose-pull image-pull build buildx")),
    ("gh glab", _judge_host_arguments),
    ("aws gcloud az kubectl helm", _judge_host_arguments),
    ("terraform tofu", _judge_package_manager("init plan apply destroy import refresh get")),
    ("python python3", _judge_python_m_pip),
)
