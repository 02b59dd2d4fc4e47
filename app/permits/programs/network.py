"""Known network commands: that they reach another machine, and which hosts their words name."""

import re
from typing import Final

from app.permits.findings import Finding, contained, network
from app.permits.programs.calls import Call, Judge, Table, by_verb, table
from app.permits.programs.options import row, take
from app.permits.words import UNKNOWN, Word

_PORTS: Final = {"http": "80", "ftp": "21", "ssh": "22", "git": "9418"}


def host_of(text: str) -> str | None:
    """`host:port` of an address."""
    found = re.match(
        r"(?:([a-z][a-z0-9+.-]*)://)?(?:[^/@]*@)?(\[[0-9a-f:]+\]|[^/:?#]+)(?::(\d+))?", text, re.IGNORECASE
    )
    if not found or UNKNOWN in found[2]:
        return None
    port = found[3] or ("80" if found[1] is None else _PORTS.get(found[1].casefold(), "443"))
    return f"{found[2].casefold()}:{port}"


_FETCH: Final = (
    "o= output= d= data= data-binary= data-raw= data-urlencode= json= F= form= b= cookie= c= cookie-jar= D= "
    "dump-header= H= header= X= request= u= user= A= user-agent= e= referer= m= max-time= "
    "connect-timeout= x= proxy= E= "
    "cert= key= cacert= resolve= retry= w= write-out= url= r= range= K= config= T= upload-file= retry-delay= "
    "max-redirs= limit-rate= unix-socket= O="
)
_WGET: Final = (
    "O= output-document= o= output-file= a= P= directory-prefix= i= input-file= post-file= post-data= method= header= "
    "user= password= U= user-agent= t= tries= T= timeout= w= wait= Q= l= level= A= R= D= B= e="
)


def _fetches(call: Call) -> list[Finding]:
    options = _WGET if call.name.startswith("wget") else _FETCH.removesuffix(" O=")
    taken = take(call.words, row(options))
    found = [network(f"{call.name} uses the network")]
    for word in [*taken.operands, *taken.values("url")]:
        if word.text.casefold().startswith("file:"):
            found.append(
                call.ground.read(Word(re.sub(r"^file:(//[^/]*)?", "", word.text, flags=re.IGNORECASE)))
            )
            continue
        host = host_of(word.text)
        call.hosts += [host] if host else []
    for value in taken.values("F", "form"):
        found += [call.ground.secret(Word(one)) for one in re.findall(r"[@<]([^;,]+)", value.text)]
    for value in taken.values("o", "output", "O", "output-document", "c", "cookie-jar", "D", "dump-header"):
        found.append(call.ground.write(value))
    return found


def _ssh(call: Call) -> list[Finding]:
    call.is_read_whole = True
    taken = take(
        call.words,
        row("b= c= D= E= e= F= I= i= J= L= l= m= O= o= p= Q= R= S= W= w= t T N f v q A X Y"),
        stops_early=True,
    )
    if taken.operands and taken.operands[0].is_literal:
        port = next((value.text for value in taken.values("p") if value.is_literal), "22")
        call.hosts.append(f"{taken.operands[0].text.rpartition('@')[2].casefold()}:{port}")
    return [network("ssh reaches another machine")]


_REMOTE: Final = re.compile(r"(?:[^/]*@)?([A-Za-z0-9_.\[\]-]+):(?!//)|\w+://")


def _copies(call: Call) -> list[Finding]:
    """`scp`, `rsync`: with a path on another machine."""
    operands = take(call.words, row("P= i= F= S= c= l= o= J= D= e= rsh= exclude= include= port=")).operands
    remote = [found for word in operands if (found := _REMOTE.match(word.text))]
    call.hosts += [f"{found[1].casefold()}:22" for found in remote if found[1]]
    if call.name == "rsync" and not remote and not any(word.is_unknown for word in operands):
        return [contained("copies files")]
    return [network("copies from or to another machine")]


def _asks(call: Call) -> list[Finding]:
    for word in call.words:
        if (
            not word.text.startswith("-")
            and word.is_literal
            and re.search(r"\w\.\w|^localhost$|://", word.text)
        ):
            host = host_of(word.text)
            call.hosts += [host if "://" in word.text else f"{word.text.casefold()}:0"] if host else []
    return [network(f"{call.name} uses the network")]


def _verbs(verbs: str, *, bare: bool = False) -> Judge:
    """A package manager."""
    return by_verb(verbs, "uses the network", network, bare=bare)


def _python(call: Call) -> list[Finding]:
    """`python -m pip install`"""
    texts = [word.text for word in call.words]
    at = texts.index("-m") if "-m" in texts else len(texts)
    fetches = texts[at + 1 : at + 2] == ["pip"] and {"install", "download", "wheel", "search", "index"} & set(
        texts
    )
    return [network("pip uses the network")] if fetches else []


_JS: Final = (
    "install i add ci update up upgrade outdated audit view info search exec dlx create init x "
    "publish login dedupe"
)
NETWORK_PROGRAMS: Table = table(
    ("curl wget wget2", _fetches),
    ("ssh mosh autossh sftp", _ssh),
    ("scp rsync", _copies),
    ("nc ncat netcat socat telnet ftp lftp ping ping6 dig nslookup host traceroute whois", _asks),
    ("http https xh aria2c yt-dlp", _asks),
    ("pip pip3", _verbs("install download wheel search index")),
    ("pipx", _verbs("install upgrade upgrade-all run inject")),
    ("uv", _verbs("sync add lock pip-install pip-sync pip-compile tool python-install publish")),
    ("uvx npx pnpx bunx", _asks),
    ("poetry pdm pipenv hatch", _verbs("install add update lock sync self publish search")),
    ("conda mamba micromamba", _verbs("install create update env upgrade search")),
    ("npm", _verbs(_JS)),
    ("pnpm", _verbs(_JS, bare=True)),
    ("yarn bun", _verbs(_JS, bare=True)),
    ("deno", _verbs("add install cache upgrade outdated update")),
    ("cargo", _verbs("install add update fetch search publish login yank owner")),
    ("rustup", _verbs("update install toolchain-install target-add component-add self-update")),
    ("go", _verbs("get install mod-download mod-tidy")),
    ("gem", _verbs("install update fetch search outdated push")),
    ("bundle bundler", _verbs("install update add outdated", bare=True)),
    ("composer", _verbs("install require update outdated create-project global search", bare=True)),
    ("dotnet", _verbs("restore add tool workload nuget new-install")),
    ("brew", _verbs("install upgrade update tap fetch search bundle reinstall")),
    (
        "apt apt-get aptitude dnf yum apk pacman zypper",
        _verbs("update upgrade install download search source add"),
    ),
    ("docker podman", _verbs("pull push login search compose-pull image-pull build buildx")),
    ("gh glab", _asks),
    ("aws gcloud az kubectl helm", _asks),
    ("terraform tofu", _verbs("init plan apply destroy import refresh get")),
    ("python python3", _python),
)
