"Command lines of clouds, platforms and services: what only asks them, and what others see."

from app.permits.calls import Table, table
from app.permits.programs.by_verb import by_verb
from app.permits.programs.services import cloud

_ASKS = (
    "list ls get show describe status info logs log whoami view inspect search regions ps top events history "
    "-list -ls -get -show -describe -status -info -logs -view -inspect -search -history -current"
)
_SAYS = "version help completion"


_KEPT = by_verb(other="F", network="login logout whoami sync status lock unlock", reads=_SAYS)
"What keeps secrets: what it says of them is one."

PLATFORMS: Table = table(
    (
        "hcloud linode-cli exo ibmcloud openstack nova scw vultr-cli civo upctl oci aliyun tccli yc govc "
        "doctl ovhcloud upsun clever scalingo okteto qovery koyeb northflank akamai",
        cloud,
    ),
    # Hosting of sites and applications
    (
        "dokku gigalixir shipit vapor envoy nanobox balena particle surge amplify chalice zappa claudia "
        "func swa nhost appwrite supabase convex neonctl pscale turso planetscale hasura shopify terminus "
        "acli lagoon pantheon",
        by_verb(
            other="F",
            reads=_SAYS,
            network=f"{_ASKS} login logout link pull auth-login init start-remote db-pull gen types",
            code="dev start stop serve local build test develop run-local emulate invoke-local generate new "
            "functions-serve db-start db-reset db-diff migration-new theme-dev app-dev theme-check",
            edits="fmt format",
        ),
    ),
    (
        "eas",
        by_verb(
            other="F",
            reads="help",
            network="login logout whoami init build build:list build:view build:run build:download "
            "build:cancel project:info project:init channel:list channel:view branch:list "
            "branch:view update:list update:view device:list env:list env:pull account:view "
            "diagnostics analytics open workflow:status",
            code="build:inspect fingerprint:generate fingerprint:compare update:configure build:configure "
            "workflow:validate",
        ),
    ),
    (
        "expo react-native ionic cordova capacitor ns nativescript ignite",
        by_verb(
            grave="publish submit deploy upload",
            network="install add update upgrade login logout whoami init create sync plugin platform",
            code="run-android run-ios run-windows run-visionos run-macos run:android run:ios export prebuild emulate "
            "log-android log-ios build-android build-ios config doctor codegen customize copy open prepare",
            reads="help",
        ),
    ),
    ("steamcmd butler itch", by_verb(other="N", grave="push publish +run_app_build workshop_build_item")),
    (
        "fastlane",
        by_verb(
            grave="deliver pilot supply release beta deploy upload_to_testflight upload_to_app_store "
            "upload_to_play_store produce sigh cert match pem register_devices appstore spaceship "
            "spaceauth firebase_app_distribution testflight playstore production internal alpha -beta "
            "-release -deploy -upload -upload_to_app_store -upload_to_testflight -alpha -internal "
            "-production -playstore -testflight",
            network="add_plugin install_plugins update_plugins update_fastlane search_plugins init "
            "install_plugin",
            reads="docs",
            has_scripts=True,
        ),
    ),
    (
        "xcrun",
        by_verb(
            grave="altool notarytool stapler iTMSTransporter",
            has_scripts=True,
        ),
    ),
    (
        "notarytool altool iTMSTransporter appcenter",
        by_verb(other="F", network="history info log -list -show -view", reads=_SAYS),
    ),
    # Registries, releases, packages
    (
        "sentry-cli",
        by_verb(
            other="N", reads="help", grave="releases deploys releases-new releases-finalize releases-deploys"
        ),
    ),
    (
        "anaconda anaconda-client binstar",
        by_verb(other="N", grave="upload copy move remove label channel", reads=_SAYS),
    ),
    (
        "cloudsmith packagecloud package_cloud gemfury fury",
        by_verb(other="F", network=f"{_ASKS} download", reads=_SAYS),
    ),
    (
        "snapcraft",
        by_verb(
            grave="upload push release close register register-key promote set-default-track",
            network=f"{_ASKS} login logout whoami list-revisions revisions remote-build names",
        ),
    ),
    (
        "vsce ovsx",
        by_verb(
            other="X",
            grave="publish unpublish delete-publisher create-namespace",
            network="login logout show search get ls-publishers verify-pat",
        ),
    ),
    (
        "chrome-webstore-upload cws-publish clasp",
        by_verb(other="F", network="login logout list pull clone versions logs open", reads=_SAYS),
    ),
    ("web-ext", by_verb(grave="sign", reads="docs")),
    (
        "lerna changeset changesets rush beachball release-please standard-version release-plz bumpp "
        "changelogen git-cliff multi-semantic-release",
        by_verb(
            grave="publish release release-pr github-release shipit nx-release tag deploy manifest-pr "
            "-publish",
            network="bootstrap install update add clone import init-cloud login connect connect-to-nx-cloud "
            "migrate",
            code="version status pre changed change rebuild purge",
        ),
    ),
    (
        "flit",
        by_verb(grave="publish", network="install"),
    ),
    ("maturin", by_verb(grave="publish upload", code="build develop sdist")),
    ("conan", by_verb(network=f"{_ASKS} install download remote remote-login", grave="upload remove-remote")),
    (
        "cpan cpanm cpm carton",
        by_verb(other="N", code="exec", through="exec", grave="publish"),
    ),
    ("cpan-upload dzil minil mbtiny", by_verb(grave="release upload", network="authordeps-install")),
    # Clusters
    (
        "k9s kubens kubectx kubetail stern kail kubie popeye kube-capacity kdash rbac-lookup kubespy "
        "k8s-unused-secret-detector hubble",
        by_verb(other="N", bare="N"),
    ),
    (
        "kubeadm kops talosctl velero vcluster loft telepresence skaffold tilt helmfile helmsman werf "
        "devspace devpod garden argo argocd-autopilot kn istioctl linkerd cilium calicoctl cmctl k8sec "
        "kubecfg tkn crossplane clusterctl rancher fluxctl kapp k0sctl k3sup eksctl-anywhere odo tanzu rosa "
        "ocm osdctl stolonctl juju microk8s waypoint boundary",
        by_verb(
            other="F",
            network=f"{_ASKS} diff wait check-cluster version analyze proxy-status pre check "
            "validate-cluster dashboard login logout deps repos fetch",
            code="template build lint render schema test fix generate init validate manifest yaml",
            reads="help completion",
        ),
    ),
    (
        "k3d k3s minikube kind colima limactl multipass crc rdctl tart orb krunvm",
        by_verb(
            reads="version help completion",
            network="update-check addons image-pull update pull clone cache-add",
            code="create delete export load cluster node kubeconfig image images registry copy cp restart edit ssh "
            "logs ip service docker-env podman-env config profile mount pause unpause factory-reset sudoers "
            "snapshot disk",
            grave="tunnel token push agent server",
        ),
    ),
    (
        "ctr crictl",
        by_verb(
            network="pull image-pull images-pull i-pull",
            grave="images-push i-push push rmi rm rmp",
            code="ps images image i containers container namespaces ns tasks task pods inspect inspecti inspectp logs",
        ),
    ),
    ("kustomize", by_verb(reads="version")),
    ("ct", by_verb(grave="install lint-and-install", reads="version help")),
    ("krew", by_verb(network="install update upgrade search info", reads="list version")),
    # Configuration of machines afar
    (
        "ansible-galaxy",
        by_verb(
            other="N",
            grave="publish collection-publish role-import role-delete import delete",
            reads="list collection-list role-list",
            code="init collection-init role-init collection-build",
        ),
    ),
    ("ansible-pull ansible-console", by_verb(other="F", bare="F")),
    ("ansible-doc", by_verb()),
    ("ansible-config ansible-inventory", by_verb()),
    (
        "salt salt-call salt-key salt-run salt-ssh salt-cloud knife chef-client chef-solo chef puppet "
        "pyinfra bosh cloud-init fwconsole plesk kcadm.sh",
        by_verb(
            other="F",
            network=f"{_ASKS} test.ping diff",
            code="apply-noop parser-validate epp generate exec lint",
            reads=_SAYS,
        ),
    ),
    (
        "kitchen test-kitchen berks inspec cinc",
        by_verb(network="install update vendor login", grave="upload"),
    ),
    # Secrets
    (
        "gopass lpass rbw bws passage keepassxc-cli keybase skate secret-tool kwallet-query chamber "
        "envchain secrethub melt paperkey akeyless teller berglas credstash dashlane dcli",
        _KEPT,
    ),
    (
        "doppler infisical dotenvx aws-vault saml2aws aws-google-auth awsume granted aws-sso "
        "gimme-aws-creds envkey-source",
        by_verb(other="F", network="run exec", through="run exec", reads=_SAYS, code="ext"),
    ),
    ("sops", by_verb(other="F", through="exec-env")),
    (
        "kubeseal age-keygen ssh-keygen certbot acme.sh acme lego dehydrated mkcert step step-ca",
        by_verb(other="F", bare="F"),
    ),
    # Data, models and their registries
    (
        "hf huggingface-cli kaggle wandb comet neptune clearml modal roboflow",
        by_verb(
            other="N",
            grave="upload upload-large-folder repo-create repo-delete repos-create repo push deploy "
            "datasets-create datasets-version datasets-delete kernels-push competitions-submit "
            "models-create delete discussions endpoints jobs publish",
            reads="version env scan-cache",
            code="offline",
        ),
    ),
    (
        "dvc",
        by_verb(
            network="pull push fetch get get-url import import-url ls list update exp-push exp-pull "
            "artifacts-get",
            reads="status diff dag version doctor root data-status params-diff metrics-show metrics-diff params",
            edits="add init remove move freeze unfreeze checkout commit",
            code="repro reproduce exp exp-run exp-show plots metrics params queue stage",
            grave="destroy gc studio",
        ),
    ),
    (
        "dbt",
        by_verb(
            network="deps run seed snapshot build test show source debug init clone retry",
            code="compile parse",
        ),
    ),
    ("snowsql snow bcp bq-cli cbt odpscmd dbx", by_verb(other="N", bare="N", grave="deploy")),
    (
        "mongocli confluent ccloud rpk aiven avn",
        by_verb(other="F", network=f"{_ASKS} login logout ping query", reads=_SAYS),
    ),
    # Others' work: tickets, reviews, lists of mails
    (
        "jira linear youtrack todoist tod fj berg hut gitlab arc rbt b4 git-review git-pw pwclient gitsome "
        "gist copr copr-cli koji bodhi fedpkg centpkg rhpkg osc bugzilla reportbug apport-bug abrt-cli "
        "zapier stripe twilio sf sfdx bk buildkite circleci travis drone jenkins-cli codefresh "
        "gitlab-runner vela concourse datadog-ci honeycomb pagerduty pd ohdear cli4 flarectl cli53 "
        "namecheap-cli github-label-sync wacli exercism codecrafters auth0 okta",
        by_verb(
            other="F",
            network=f"{_ASKS} login logout me open browse download-build download clone pull fetch am "
            "shazam checkout co co-pull checks listen diff issues projects sprints config-validate "
            "auth-login taginfo buildinfo",
            code="local config-process config lint exec local-execute prep build-local process verify "
            "validate test compile",
            reads=_SAYS,
        ),
    ),
    # Chains
    (
        "truffle hardhat sui solana soroban aptos starkli brownie",
        by_verb(
            grave="deploy migrate publish send transfer sign create-nft airdrop program-deploy "
            "client-publish script-broadcast",
            network="balance account logs login auth init-remote",
            reads="--version help",
        ),
    ),
    (
        "cast electrum bitcoin-cli geth octez-client light-arionum-cli hsd-cli hsw-cli",
        by_verb(other="N", grave="send mktx wallet sendtoaddress sendrawtransaction transfer publish"),
    ),
)
