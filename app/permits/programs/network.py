"""Programs that speak to other machines."""

import re

from app.permits.calls import Call, Table, Usual, always, answers_help, fetched, judge_options, table
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.paths import file_name
from app.permits.programs.wrapping import judge_known_part
from app.permits.words import STAR, UNKNOWN, Word

_CURL = (
    "o=:fetch output=:fetch output-dir=:write O J T=:read upload-file=:read K=:read config=:read d= "
    "data= data-binary= "
    "data-raw= data-urlencode= data-ascii= json= F= form= b= cookie= c=:write "
    "cookie-jar=:write D=:write "
    "dump-header=:write trace=:write trace-ascii=:write stderr=:write H= header= X= request= "
    "u= "
    "user= A= user-agent= e= "
    "referer= m= max-time= connect-timeout= x= proxy= E= cert= key= cacert= capath= resolve= retry= w= "
    "write-out= url= r= range= "
    "C= continue-at= netrc-file= interface= limit-rate= hsts=:write etag-save=:write libcurl=:write proto= "
    "connect-to= alt-svc=:write y= Y= z= "
    "retry-delay= retry-max-time= max-redirs= aws-sigv4= oauth2-bearer= unix-socket= variable="
)


def host_of(text: str) -> str | None:
    """`host:port` of an address."""
    found = re.match(
        r"(?:([a-z][a-z0-9+.-]*)://)?(?:[^/@]*@)?(\[[0-9a-f:]+\]|[^/:?#]+)(?::(\d+))?", text, re.IGNORECASE
    )
    if not found or UNKNOWN in found[2]:
        return None
    port = found[3] or {"http": "80", "ftp": "21", None: "80"}.get(found[1], "443")
    return f"{found[2].casefold()}:{port}"


def _address(call: Call, word: Word) -> list[Finding]:
    text = word.text
    if text.casefold().startswith("file:"):
        found = call.ground.read(Word(re.sub(r"^file:(//[^/]*)?", "", text, flags=re.IGNORECASE)))
        return [found]
    host = host_of(text)
    if host is None:
        return [Finding("N", "reaches a host that only the run will tell")]
    call.hosts.append(host)
    return []


@answers_help
def _curl(call: Call) -> list[Finding]:
    taken = take(call.words, row(_CURL))
    found = [Finding("N", "curl uses the network"), *judge_options(call, taken)]
    for name, value, _ in taken.options:
        if value is None:
            continue
        if (
            name in ("d", "data", "data-binary", "data-urlencode", "data-ascii", "json", "H", "header")
            and "@" in value.text[:40]
        ):
            if value.text.startswith("@") or name == "data-urlencode":
                found += _sent(call, value, value.text.partition("@")[2])
        elif name in ("F", "form"):
            found += [
                one for piece in re.findall(r"[@<]([^;,]+)", value.text) for one in _sent(call, value, piece)
            ]
        elif name == "unix-socket":
            found.append(Finding("F", "reaches a program of the machine"))
    addresses = [*taken.operands, *taken.values("url")]
    for word in addresses:
        found += _address(call, word)
    if taken.has("O", "remote-name", "remote-name-all"):
        found += _saved(call, addresses, taken.values("output-dir"))
    if taken.has("J", "remote-header-name"):
        found.append(Finding("U", "the server says which file is written"))
    return found


def _saved(call: Call, addresses: list[Word], folders: list[Word], nameless: str = "") -> list[Finding]:
    """What an address gives is saved by its last name; how that goes on, one need not know."""
    found: list[Finding] = []
    for address in addresses:
        last = file_name(address.text.partition("?")[0])
        name = last[:1] + last[1:].replace(UNKNOWN, STAR) or nameless
        found.append(fetched(call, Word(f"{folders[0].text}/{name}" if folders else name)))
    return found


def _sent(call: Call, value: Word, path: str) -> list[Finding]:
    """A file whose content is sent."""
    return [call.ground.read(Word(path, value.may_split))] if path and path != "-" else []


_WGET = (
    "O=:fetch output-document=:fetch o=:write output-file=:write a=:write append-output=:write P=:write "
    "directory-prefix=:write i=:read "
    "input-file=:read post-file=:read body-file=:read post-data= method= header= user= password= U= "
    "user-agent= t= tries= T= timeout= w= "
    "wait= Q= l= level= A= R= D= load-cookies=:read save-cookies=:write use-askpass=:X ca-certificate= "
    "certificate= private-key= execute=:X "
    "e=:X config=:X warc-file=:write B= base= r recursive np nc q nv c"
)


@answers_help
def _wget(call: Call) -> list[Finding]:
    taken = take(call.words, row(_WGET))
    found = [Finding("N", "wget uses the network"), *judge_options(call, taken)]
    for word in taken.operands:
        found += _address(call, word)
    if not taken.has("O", "output-document", "spider"):
        found += _saved(call, taken.operands, taken.values("P", "directory-prefix"), "index.html")
    return found


def _ssh(call: Call) -> list[Finding]:
    taken = take(
        call.words,
        row("b= c= D= E=:write e= F=:X I=:X i= J= L= l= m= O= o= p= Q= R= S= W= w= t T N f v q A X Y"),
        stops_early=True,
    )
    found = [Finding("N", "ssh reaches another machine"), *judge_options(call, taken)]
    for value in taken.values("o"):
        if re.match(
            r"(proxycommand|localcommand|permitlocalcommand|knownhostscommand|match)",
            value.text,
            re.IGNORECASE,
        ):
            found.append(Finding("X", "an option of ssh runs a command"))
    operands = taken.operands
    if operands and operands[0].is_literal:
        call.hosts.append(f"{operands[0].text.rpartition('@')[2].casefold()}:22")
    command = operands[1:]
    if not command and call.feed is not None:
        found.append(Finding("U", "runs elsewhere what it is fed with"))
        if call.feed.text is not None:
            call.script(call.feed.text, None)
    if any(not word.is_literal or word.may_split for word in command):
        found.append(Finding("U", "what runs elsewhere, only the run will tell"))
        for word in operands:
            judge_known_part(call, [word])
    elif command:
        call.script(" ".join(word.text for word in command), None)
    return found


def _is_remote(word: Word) -> bool:
    return re.match(r"(?:[^/]*@)?[A-Za-z0-9_.\[\]-]+:(?!//)|\w+://", word.text) is not None or word.is_unknown


def _scp(call: Call) -> list[Finding]:
    taken = take(call.words, row("P= i= F=:X S=:X c= l= o= J= D=:X r p q C v"))
    found = [Finding("N", "copies from or to another machine"), *judge_options(call, taken)]
    return found + _copied(call, taken.operands, deeply=taken.has("r"))


@answers_help
def _rsync(call: Call) -> list[Finding]:
    taken = take(
        call.words,
        row(
            "e=:X rsh=:X rsync-path=:X exclude= include= exclude-from=:read "
            "include-from=:read files-from=:read f= filter= "
            "backup-dir=:write log-file=:write partial-dir= temp-dir=:write T=:write "
            "compare-dest= link-dest= "
            "password-file= port= bwlimit= timeout= max-size= min-size= chmod= chown= "
            "out-format= B= M= "
            "delete del delete-after delete-before delete-during delete-delay "
            "delete-excluded remove-source-files n dry-run "
            "a r v z P daemon:X write-batch=:write"
        ),
    )
    found = judge_options(call, taken)
    operands = taken.operands
    found += taken.doubt
    if any(_is_remote(word) for word in operands):
        return [
            *found,
            Finding("N", "copies from or to another machine"),
            *_copied(call, operands, deeply=True),
        ]
    if taken.has("n", "dry-run"):
        return [*found, Finding("R", "only says what it would do")]
    found += _copied(call, operands, deeply=True)
    if len(operands) > 1 and any(name.startswith("del") for name, _, _ in taken.options):
        found.append(call.ground.remove(operands[-1], deeply=True))
    if taken.has("remove-source-files"):
        found += [call.ground.remove(word, deeply=True) for word in operands[:-1]]
    return found or [Finding("R", "only reads")]


def _copied(call: Call, operands: "list[Word]", *, deeply: bool) -> list[Finding]:
    found: list[Finding] = []
    for word in operands[:-1]:
        if not _is_remote(word):
            found.append(call.ground.read(word, deeply=deeply))
    if len(operands) > 1 and not _is_remote(operands[-1]):
        found.append(
            fetched(call, operands[-1])
            if any(map(_is_remote, operands[:-1]))
            else call.ground.write(operands[-1])
        )
    elif operands and len(operands) > 1 and operands[-1].is_unknown:
        found.append(Finding("U", "where it is copied to, only the run will tell"))
    return found


@answers_help
def _asks(call: Call) -> list[Finding]:
    for word in call.words:
        if not word.text.startswith("-") and "." in word.text and word.is_literal:
            call.hosts.append(f"{word.text.casefold()}:0")
    return [Finding("N", f"{call.name} uses the network")]


_LOOKING_WORDS = frozenset({"show", "list", "ls", "lst", "sh", "get", "help"})


def _ip(call: Call) -> list[Finding]:
    """Its words may be cut short, so that those that look are named."""
    if any(re.match(r"--?(?:b|batch|force|n|netns)$", word.text) for word in call.words):
        return [Finding("F", "may change the network of the machine")]
    words = [word.text for word in call.words if not word.text.startswith("-")]
    if len(words) < 2 or words[1] in _LOOKING_WORDS or words[0] in ("monitor", "mon"):
        return [Finding("R", "only looks")]
    return [Finding("F", "changes the network of the machine")]


def _interface(call: Call) -> list[Finding]:
    """`ifconfig eth0` and `route -n` look; with more words they change."""
    words = [word.text for word in call.words if not word.text.startswith("-")]
    sets = len(words) > 1 or (call.name == "route" and words)
    return [Finding("F", "changes the network of the machine") if sets else Finding("R", "only looks")]


def _netcat(call: Call) -> list[Finding]:
    runs = any(re.match(r"-\w*[ec]|--(exec|sh-exec|lua-exec)", word.text) for word in call.words)
    return [
        Finding("N", "reaches another machine"),
        *([Finding("F", "lets another machine run commands")] if runs else []),
    ]


_REMOTE = always("N", "uses the network")
NETWORK: Table = table(
    ("curl", _curl),
    ("wget wget2", _wget),
    ("ssh mosh autossh", _ssh),
    ("scp sftp", _scp),
    ("rsync", _rsync),
    (
        "ping ping6 dig nslookup host traceroute tracepath mtr whois telnet ftp lftp http https xh httpie "
        "aria2c "
        "axel youtube-dl yt-dlp "
        "nmap speedtest drill resolvectl arping",
        _asks,
    ),
    ("nc ncat netcat socat", _netcat),
    ("netstat", always("R", "only looks")),
    ("ip", _ip),
    (
        "ss",
        Usual(why="only looks", operands="text", options="D=:write diag=:write K:X kill:X f= A= F=:read N="),
    ),
    ("ifconfig route", _interface),
    (
        "redis-cli valkey-cli psql pgcli usql mysql mariadb mycli mysqldump mysqladmin mysqlimport mysqlsh "
        "mongosh mongo "
        "mongodump mongorestore mongoimport mongoexport pg_dump pg_dumpall pg_restore pg_isready createdb "
        "dropdb "
        "createuser dropuser vacuumdb reindexdb cqlsh influx sqlcmd cypher-shell clickhouse-client etcdctl "
        "etcdutl "
        "redis-benchmark pgbench",
        always("X", "asks a database, and may change it"),
    ),
    (
        "rclone s3cmd gsutil mc grpcurl evans websocat wscat tftp mosquitto_pub mosquitto_sub hey wrk wrk2 "
        "ab vegeta "
        "siege bombardier oha lychee linkchecker markdown-link-check trivy grype snyk ncu npm-check-updates "
        "degit "
        "tiged codecov coveralls Invoke-WebRequest Invoke-RestMethod iwr irm",
        _REMOTE,
    ),
)
