#!/usr/bin/env bash
# The instructions that a hit takes, counted by callgrind, beside those in tests/bench/instructions.txt. Status 1 when one
# has grown by more than 5 %. Unlike times they are the same however busy the machine is.
#
#   scripts/bench instructions [--driver FILE]
#   scripts/bench instructions --update     what is counted becomes the new guard
# Builds: bench_instructions
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

guard=tests/bench/instructions.txt
driver=build/release/tests/bin/bench_instructions
update=
while [ $# -gt 0 ]; do
  case $1 in
    --driver) driver=$2; shift ;;
    --update) update=yes ;;
    *) die "unknown option $1" ;;
  esac
  shift
done
command -v valgrind >/dev/null || die "valgrind is missing; as root, run first: apt-get install valgrind"

# count HITS PAGES PUTS: all instructions of such a run.
count() {
  local told
  told=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$driver" "$@" 2>&1) ||
    { say "$told" >&2; return 1; }
  sed -nE 's/.*Collected : ([0-9]+)$/\1/p' <<<"$told"
}

# Of runs that differ in one number alone, start and preparation are the same.
few=500 many=10500
runs=("$few $few $few" "$many $few $few" "$few $many $few" "$few $few $many")
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for i in "${!runs[@]}"; do
  # shellcheck disable=SC2086  # three words
  count ${runs[i]} >"$results/$i" &
done
wait
for i in "${!runs[@]}"; do
  [ -s "$results/$i" ] || die "callgrind told no count of $driver ${runs[i]}"
done

# per RUN: instructions of each of what this run did more of than the first one.
per() { echo $((($(cat "$results/$1") - $(cat "$results/0")) / (many - few))); }
compiler="compiler $(c++ -dumpfullversion)"
counted=$(printf 'hit %s\npage %s\nput %s\n' "$(per 1)" "$(per 2)" "$(per 3)")

if [ "$update" ]; then
  { sed -n '/^#/p' "$guard"; say "$compiler"; say "$counted"; } >"$results/guard"
  cp "$results/guard" "$guard"
  say "$guard now says:"
  sed '/^#/d' "$guard"
  exit
fi

status=0
while read -r what now; do
  old=$(awk -v what="$what" '$1 == what { print $2 }' "$guard")
  [ -n "$old" ] || die "$guard has no line for '$what'"
  printf '%-4s %5d instructions, guard %5d\n' "$what" "$now" "$old"
  [ $((now * 100)) -gt $((old * 105)) ] || continue
  status=1
  say "$what: grew from $old to $now instructions, more than the 5 % that are let pass."
done <<<"$counted"
[ $status -eq 0 ] && exit
say "If what they buy is worth it: scripts/bench instructions --update, and commit $guard with the reason."
grep -qxF "$compiler" "$guard" || say "The guard was counted with another compiler: $(grep '^compiler' "$guard")."
exit 1
