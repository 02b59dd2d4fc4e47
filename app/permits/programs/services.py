"""Tools that act for a person on services: hosting of code, containers, clusters, clouds."""

import re

from app.permits.calls import SAYS_WHAT_IT_IS, Call, Judge, Table, answers_help, table
from app.permits.letters import Finding, Letter
from app.permits.options import row, take
from app.permits.programs.by_verb import by_verb
from app.permits.programs.verbs import DEEDS, letters_of, words_of
from app.permits.words import Word, literal, names

_GRAVE_VERBS = names(
    "create merge close reopen comment edit delete review ready lock unlock transfer pin unpin "
    "rename archive unarchive fork sync set remove add upload publish deploy apply destroy rerun "
    "cancel enable disable run approve rollback scale restart suspend resume promote develop sign "
    "import export-secrets update update-branch revert note resolve"
)


@answers_help
def _hosting(call: Call) -> list[Finding]:
    """`gh`, `glab`: reading is network; what others see is the floor."""
    words = words_of(call, valued=names("-R --repo -q --jq --json -t --template -L --limit"))
    is_api = bool(words) and words[0].text == "api"
    if any(not word.is_literal for word in words[: 1 if is_api else 2]):
        return [Finding("U", "what it does, only the run will tell")]
    group, verb = (words[0].text if words else ""), (words[1].text if len(words) > 1 else "")
    if group in ("", "help", "version", "completion"):
        return [SAYS_WHAT_IT_IS]
    if group == "api":
        return _api(call)
    if group == "auth":
        return (
            [Finding("N", "asks who one is")]
            if verb == "status"
            else [Finding("F", "changes or says credentials")]
        )
    if group in ("secret", "ssh-key", "gpg-key", "variable", "codespace") and verb not in (
        "list",
        "get",
        "view",
    ):
        return [Finding("F", f"changes {group}s")]
    if group == "browse":
        return [Finding("X", "opens a browser")]
    if group in ("alias", "extension", "config"):
        return (
            [Finding("R", "only reads")]
            if verb in ("list", "get")
            else [Finding("F", "changes settings outside the workspace")]
        )
    if verb in _GRAVE_VERBS:
        return [Finding("F", f"{call.name} {group} {verb} is seen by others")]
    return [Finding("N", f"asks {call.name} about {group}")]


def _api(call: Call) -> list[Finding]:
    taken = take(
        call.words,
        row(
            "X= method= f= F= field= raw-field= input=:read H= header= q= jq= t= template= p= preview= "
            "hostname= cache="
        ),
    )
    method = taken.values("X", "method")
    changes = bool(method and method[-1].text.upper() != "GET") or (
        not method and taken.has("f", "F", "field", "raw-field", "input")
    )
    if any(word.text == "graphql" for word in taken.operands):
        changes = any(
            "mutation" in value.text or not value.is_literal
            for value in taken.values("f", "F", "field", "raw-field")
        ) or taken.has("input")
    if changes or any(word.is_unknown for word in method):
        return [Finding("F", "a request that changes something for others")]
    return [Finding("N", "asks a service")]


_DOCKER_READ = names(
    "ps images logs inspect version info stats top port diff history events "
    "context-ls context-show image-ls image-list image-inspect image-history container-ls "
    "container-list container-logs container-inspect container-top container-stats volume-ls "
    "volume-inspect network-ls network-inspect system-df system-info compose-ps compose-logs "
    "compose-config compose-images compose-top compose-ls compose-version compose-port buildx-ls "
    "buildx-version"
)
_DOCKER_GRAVE = names(
    "push system-prune volume-prune volume-rm volume-remove image-prune container-prune "
    "network-prune builder-prune swarm secret config stack service node plugin buildx-prune "
    "compose-push image-push manifest-push trust-sign trust-revoke"
)
_AFAR = re.compile(r"^(?:-f|--file=)?(?:oci|https?|git|ssh)://|^git@")
_DOCKER_RUN = (
    "v= volume= mount= e= env= p= publish= w= workdir= name= u= user= network= net= "
    "entrypoint= env-file= h= hostname= "
    "l= label= m= memory= cpus= pid= ipc= uts= userns= cap-add= cap-drop= device= security-opt= add-host= "
    "platform= pull= restart= "
    "rm it i t d privileged volumes-from= tmpfs= ulimit= shm-size= gpus= log-driver= log-opt= dns= ip= "
    "runtime= cgroupns= link="
)


@answers_help
def _docker(call: Call) -> list[Finding]:
    words = words_of(
        call,
        valued=names(
            "-H --host -c --context -f --file -p --project-name --config --profile --env-file "
            "--project-directory -l --log-level"
        ),
    )
    if call.name in ("docker-compose", "podman-compose"):
        words = [literal("compose"), *words]
    if not words or not words[0].is_literal:
        return [Finding("U" if words else "R", "what it does, only the run will tell")]
    verb = words[0].text
    pair = f"{verb}-{words[1].text}" if len(words) > 1 else verb
    if verb in _DOCKER_GRAVE or pair in _DOCKER_GRAVE:
        return [
            Finding(
                "F", f"{call.name} {pair.replace('-', ' ', 1)} acts on others, or removes what nothing holds"
            )
        ]
    if verb in _DOCKER_READ or pair in _DOCKER_READ:
        return [Finding("R", "only looks")]
    if verb in ("pull", "login", "logout", "search", "scout", "sbom", "extension", "model") or pair in (
        "compose-pull",
        "image-pull",
        "manifest-inspect",
        "plugin-install",
    ):
        return [Finding("N", "uses the network")]
    removes = verb == "rm" or pair == "compose-down"
    if removes and any(re.fullmatch(r"-\w*v\w*|--volumes", word.text) for word in call.words):
        return [Finding("F", "removes volumes, which nothing holds")]
    found = [Finding("X", f"{call.name} {verb} works outside the box")]
    if pair == "buildx-imagetools":
        looks = any(word.text == "inspect" for word in words[2:3])
        found.append(Finding("N", "asks a registry") if looks else Finding("F", "pushes to a registry"))
    if verb in ("build", "buildx") and "--push" in (word.text for word in call.words):
        found.append(Finding("F", "pushes to a registry"))
    if verb in ("build", "buildx") and any(word.may_be_several for word in call.words):
        found.append(Finding("U", "whether it pushes, only the run will tell"))
    if verb == "compose" and any(_AFAR.search(word.text) for word in call.words):
        found.append(Finding("N", "its services are described elsewhere"))
    if (
        verb in ("run", "create")
        or pair in ("container-run", "container-create", "compose-run", "container-exec")
        or verb == "exec"
    ):
        found += _container(call, verb)
    return found


def _container(call: Call, verb: str) -> list[Finding]:
    """Whether a container gets the machine."""
    at = next((i for i, word in enumerate(call.words) if word.text == verb), 0)
    taken = take(call.words[at + 1 :], row(_DOCKER_RUN), stops_early=True)
    found: list[Finding] = []
    if taken.has("privileged", "device", "cap-add", "volumes-from", "security-opt", "runtime"):
        found.append(Finding("F", "the container gets the machine"))
    if any(
        value.text == "host"
        for value in taken.values("pid", "ipc", "uts", "userns", "cgroupns", "network", "net")
    ):
        found.append(Finding("F", "the container gets the machine"))
    for value in taken.values("v", "volume", "mount"):
        found += _mount(call, value)
    image = taken.operands[0] if taken.operands else None
    values = (option.value for option in taken.options if option.value is not None)
    if (image is None and not taken.is_sure) or any(
        word.may_be_several for word in (*values, *taken.operands[:1])
    ):
        found.append(Finding("U", "what the container gets, only the run will tell"))
    return found


def _mount(call: Call, value: Word) -> list[Finding]:
    text = value.text
    if "=" in text and "," in text:
        named = re.search(r"(?:^|,)(?:src|source)=([^,]*)", text)
        text = named[1] if named and "type=volume" not in text else ""
    else:
        text = text.partition(":")[0]
    if not text.startswith(("/", ".", "~", "\ue000")):
        return []
    path = Word(text)
    if path.is_unknown:
        return [Finding("U", "what the container gets, only the run will tell")]
    if "docker.sock" in text or call.ground.is_outside(path):
        return [Finding("F", f"the container gets {call.ground.shown(text)}")]
    return []


_KUBE_READ = names(
    "get describe logs top version api-resources api-versions cluster-info explain events diff auth wait"
)
_KUBE_CONFIG = frozenset(
    ["config-view", "config-get-contexts", "config-current-context", "config-get-clusters"]
)


@answers_help
def _kubectl(call: Call) -> list[Finding]:
    words = words_of(
        call,
        valued=names("-n --namespace --context --kubeconfig --cluster --user -l -o -f -c"),
    )
    if not words or not words[0].is_literal:
        return [Finding("U" if words else "R", "what it does, only the run will tell")]
    verb = words[0].text
    if verb in _KUBE_READ:
        return [Finding("N", "asks a cluster")]
    if verb == "config":
        reads = len(words) > 1 and f"config-{words[1].text}" in _KUBE_CONFIG
        return [
            Finding("N", "reads which cluster is meant")
            if reads
            else Finding("F", "changes which cluster is meant")
        ]
    if verb == "exec":
        at = next((i for i, word in enumerate(call.words) if word.text == "--"), None)
        if at is not None and at + 1 < len(call.words):
            call.run(call.words[at + 1 :])
        return [Finding("N", "runs a command in a cluster"), Finding("X", "runs a command in a cluster")]
    if verb in ("port-forward", "proxy", "attach", "cp", "debug", "kustomize", "completion", "plugin"):
        return [Finding("N", "reaches a cluster")]
    return [Finding("F", f"{call.name} {verb} changes a cluster")]


_LOOKS_AT = re.compile(r"[\w-]+:(?:list|get|show|status|info|view|logs|describe)")
_AT_HOME = names(
    "completion completions lint fmt format validate render template package print types typegen schema docs"
)
"""Verbs that mean nobody else, whatever service it is."""


_SERVICE_DEEDS: dict[Letter, str] = {**DEEDS, "N": "asks a service", "F": "acts on others"}


def service(
    *,
    reads: str = "",
    network: str = "",
    code: str = "",
    edits: str = "",
    other: Letter = "F",
    bare: Letter = "R",
) -> Judge:
    """Tools for services and clouds, by the first word that says something."""
    known = letters_of(reads=reads, network=network, edits=edits, code=code)

    @answers_help
    def judge(call: Call) -> list[Finding]:
        words = words_of(call)
        if not words:
            letter = bare if len(call.words) < 2 else other
            return [Finding(letter, f"{call.name} {_SERVICE_DEEDS[letter]}")]
        if not words[0].is_literal:
            return [Finding("U", f"what {call.name} does, only the run will tell")]
        verb = words[0].text
        if verb in ("login", "logout", "whoami", "signup"):
            return [Finding("N", f"{call.name} {verb} asks who one is")]
        pair = f"{verb}-{words[1].text}" if len(words) > 1 else verb
        letter = known.get(verb) or known.get(pair)
        if letter:
            return [Finding(letter, f"{call.name} {verb} {_SERVICE_DEEDS[letter]}")]
        if _LOOKS_AT.fullmatch(verb):
            return [Finding("N", f"{call.name} {verb} asks a service")]
        if verb in _AT_HOME:
            return [Finding("X", f"{call.name} {verb} runs other code")]
        return [Finding(other, f"{call.name} {verb} {_SERVICE_DEEDS[other]}")]

    return judge


_KEYS = re.compile(r"secret|delete|^--(import|edit|gen|full-gen|quick|recv|refresh|change|fast-import|trust)")
"""Words of gpg that change the person's keys, or tell them."""
_CLOUD_READ = re.compile(
    r"(list|ls|get|describe|show|head|view|status|whoami|search|lookup|batch-get|scan|query|filter|tail|presign|info)(-.*|s)?"
)


@answers_help
def cloud(call: Call) -> list[Finding]:
    """`aws`, `gcloud`, `az`: what does not say that it only looks, acts."""
    words = words_of(
        call, valued=frozenset({"--region", "--profile", "--project", "--output", "--query", "--format"})
    )
    if words and words[0].text == "login":
        return [Finding("N", "asks who one is")]
    if any(not word.is_literal for word in words[:2]) or (
        len(words) > 2
        and not words[2].is_literal
        and words[1].text not in ("set", "create", "delete", "update")
    ):
        return [Finding("U", "what it does, only the run will tell")]
    if any(
        word.text
        in (
            "configure",
            "login",
            "auth",
            "print-access-token",
            "get-secret-value",
            "secret",
            "secretsmanager",
        )
        for word in words[:4]
    ):
        return [Finding("F", "changes or says credentials")]
    if any(_CLOUD_READ.fullmatch(word.text) for word in words[1:4]):
        return [Finding("N", "asks a service")]
    return [Finding("F", f"{call.name} acts on others")]


def _is_tried(call: Call) -> bool:
    return any(word.text in ("--dry-run", "-d", "--snapshot", "--preview") for word in call.words)


@answers_help
def _releases(call: Call) -> list[Finding]:
    """What publishes without being told to."""
    return [Finding("X", "only tries") if _is_tried(call) else Finding("F", f"{call.name} publishes")]


def _goreleaser(call: Call) -> list[Finding]:
    words = words_of(call)
    if words and words[0].text == "release" and not _is_tried(call):
        return [Finding("F", "publishes")]
    return [Finding("X", "builds what would be released")]


_INFRASTRUCTURE = service(
    network="init plan refresh providers get output state-list state-show show",
    code="validate",
    edits="fmt",
    reads="version graph",
    other="F",
)


def _infrastructure(call: Call) -> list[Finding]:
    """`terraform fmt -check` changes nothing."""
    words = [word.text for word in call.words]
    if "fmt" in words and {"-check", "-check=true", "-write=false"} & set(words):
        return [Finding("R", "only looks")]
    return _INFRASTRUCTURE(call)


SERVICES: Table = table(
    ("gh glab hub tea", _hosting),
    ("docker podman nerdctl docker-compose podman-compose", _docker),
    ("kubectl oc k", _kubectl),
    (
        "helm",
        service(
            network="list ls search repo pull show status history get dependency",
            code="template lint package",
            reads="version env",
        ),
    ),
    (
        "terraform tofu",
        _infrastructure,
    ),
    (
        "terragrunt",
        service(
            network="init plan refresh providers get output state-list state-show show catalog scaffold run-plan",
            code="validate hclfmt hcl find list dag graph graph-dependencies info render-json output-module-groups",
            reads="version",
        ),
    ),
    (
        "pulumi cdk cdktf sst serverless sls sam",
        service(
            network="preview diff ls list stack info logs metrics",
            code="synth build local validate package print",
            reads="version",
        ),
    ),
    (
        "vercel netlify now",
        service(
            network="ls list logs inspect whoami status env-ls", code="dev build", reads="help", bare="F"
        ),
    ),
    (
        "wrangler",
        service(
            network="list ls logs tail info whoami deployments-list versions-list versions-view",
            code="dev types init generate docs check build pages-dev pages-functions d1-migrations-create",
            reads="version help",
        ),
    ),
    (
        "firebase fly flyctl heroku railway render eb cf",
        service(
            network="list ls logs status info whoami ps apps",
            code="dev serve emulators:start",
            reads="version help",
        ),
    ),
    ("aws gcloud az", cloud),
    (
        "skopeo crane regctl oras",
        service(network="inspect list-tags digest manifest ls pull export catalog"),
    ),
    ("buildah", service(reads="images containers inspect version", other="X")),
    ("cosign", service(network="verify verify-attestation verify-blob tree triangulate", code="version")),
    ("argocd flux", service(network="get list diff check logs app-get app-list app-diff", reads="version")),
    ("eksctl consul nomad", service(network="get status members info list", reads="version")),
    ("packer", service(network="init plugins", code="validate inspect", edits="fmt", reads="version")),
    ("databricks bq", service(network="ls list show head query get", reads="version")),
    ("jf jfrog", service(network="search config rt-search rt-download rt-ping", reads="--version")),
    ("semantic-release np gh-pages release-it", _releases),
    ("goreleaser", _goreleaser),
    ("ngrok cloudflared", lambda call: [Finding("F", "opens this machine to others")]),
    ("ansible ansible-playbook", service()),
    (
        "vagrant",
        by_verb(
            reads="status global-status",
            network="box-add box-update box-outdated plugin-install plugin-update login",
            code="up ssh halt provision reload suspend resume snapshot ssh-config port rsync destroy box plugin",
            grave="cloud push share",
        ),
    ),
    (
        "gpg gpg2",
        lambda call: (
            [Finding("F", "says or changes secret keys")]
            if any(_KEYS.search(w.text) for w in call.words)
            else [Finding("X", "works with keys")]
        ),
    ),
    ("pass op bw vault security keyring", service(reads="version help")),
)
