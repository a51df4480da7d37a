#!/usr/bin/env bash
# The simulation of tests/simulate: worlds in which everything goes wrong, and an oracle that judges every answer.
# Status 1 and the last steps when one was wrong; the same seed does the same again.
#
#   scripts/bench simulate [--seed N] [--steps 10000000]
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

build release simulate
[ $# -gt 0 ] || set -- --steps 10000000
exec build/release/tests/bin/simulate "$@"
