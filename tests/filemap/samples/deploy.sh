#!/usr/bin/env bash
set -euo pipefail

readonly ROOT="$(dirname "$0")"
export MODE=fast
count=0
count=1
alias ll='ls -l'

# Says what is wrong.
die() {
  local text="$1"
  echo "$text" >&2
  exit 1
}

function build::all {
  inner() { :; }
  cat <<EOF
not_a_function() {
}
EOF
}

if [[ -n "${CI:-}" ]]; then
  on_ci() { return 0; }
fi

main() (
  build::all "$@"
)

main "$@"
