# shellcheck shell=bash disable=SC2086,SC2034
# Shared by the scripts; sourced, not run. Leaves the caller at the top of the source tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

# need_packages GROUP...: installs what is missing of these groups of packages.txt; instant if nothing is.
need_packages() {
  local wanted missing groups
  groups=$(IFS='|'; printf '%s' "$*")
  wanted=$(awk -v groups="^($groups)$" '$1 ~ groups { print $2 }' scripts/packages.txt | sort -u)
  if ! command -v dpkg-query >/dev/null; then
    say "Not a Debian system: making sure that these are there is up to you:" $wanted
    return
  fi
  missing=$(comm -23 <(printf '%s\n' $wanted) \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
      awk '$1 == "installed" { print $2 }' | sort -u))
  [ -n "$missing" ] || return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "as root, run first: apt-get install" $missing
    as_root=(sudo)
  fi
  say "Installing Debian packages:" $missing
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $missing >/dev/null </dev/null
}

# configure PRESET: unless that is done; the build itself notices what changes later.
configure() {
  local dir=build/$1
  [ ! -f "$dir/build.ninja" ] || return 0
  say "Configuring $dir"
  mkdir -p "$dir"
  cmake --preset "$1" >"$dir/configure.log" 2>&1 || { cat "$dir/configure.log"; return 1; }
}

# build PRESET [TARGET...]: everything, if no target is named.
build() {
  local targets=("${@:2}")
  configure "$1" || return
  cmake --build "build/$1" ${targets:+--target "${targets[@]}"}
}

# up_to_date STAMP: no source, and no folder that may have lost one, is newer than the stamp.
up_to_date() {
  [ -e "$1" ] && [ -z "$(find CMakeLists.txt CMakePresets.json cmake framework plugins sample-app -newer "$1" \
    \( -type d -o -name '*.cpp' -o -name '*.h' -o -name '*.cmake' -o -name '*.in' -o -name 'CMake*' \) \
    -print -quit)" ]
}

# run_tests PRESET [CTEST-ARGUMENT...]: runs them, shows those that fail, keeps the whole output in
# build/PRESET/test.log, then prints the slowest five. Sets PASSED and FAILED; fails if a test did.
run_tests() {
  local dir=build/$1 log=build/$1/test.log status=0
  shift
  ctest --test-dir "$dir" --parallel 2 --output-on-failure --no-tests=error "$@" </dev/null 2>&1 | tee "$log" |
    { grep -vE '^ +Start |^ *[0-9]+/[0-9]+ Test .* Passed ' || true; } || status=1
  local results
  results=$(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+:' "$log" || true)
  PASSED=$(grep -cE ' Passed +[0-9.]+ sec' <<<"$results" || true)
  FAILED=$(grep -cvE '(^| Passed +[0-9.]+ sec.*)$' <<<"$results" || true)
  say "Slowest five:"
  sed -nE 's/^.*#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*$/\2 s  \1/p' <<<"$results" | sort -rn | head -n 5
  return "$status"
}
