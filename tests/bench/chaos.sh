#!/usr/bin/env bash
# Real processes, a real store and a real memcached, while workers are killed, memcached hangs or dies, backups are
# restored, the site is cloned, other programs edit: visitors read, and every answer is checked. Prints how many were
# stale or somebody else's; status 1 unless both are 0.
#
#   scripts/bench chaos [--minutes 20]
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

minutes=20
while [ $# -gt 0 ]; do
  case $1 in
    --minutes) minutes=$2; shift 2 ;;
    *) die "unknown argument '$1'; try --minutes N" ;;
  esac
done

need_packages test
build release e2e
LARDER_CHAOS_SECONDS=$((minutes * 60)) exec build/release/tests/bin/e2e --gtest_filter='Chaos*'
