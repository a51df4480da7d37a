#!/usr/bin/env bash
# layers.sh SOURCE-TREE: checks what the source files include.
#  - A layer of the framework includes only those before it; plugins and the engine's API know nothing above.
#  - Public headers keep libraries that are our business (sockets, TOML, JSON, Lua) out of their users' way.
set -euo pipefail
cd "$1"

status=0
# forbid WHAT PATTERN PATH...: no file below the paths may have an #include that matches.
forbid() {
  local what=$1 pattern=$2 path found=
  shift 2
  for path in "$@"; do
    [ ! -e "$path" ] ||
      found+=$(grep -rnE --include='*.h' --include='*.cpp' "^ *# *include *[<\"]($pattern)" "$path" || true)
  done
  if [ -n "$found" ]; then
    printf '%s:\n%s\n\n' "$what" "$found"
    status=1
  fi
}

layers=(api cache site http server testing)
for i in "${!layers[@]}"; do
  later=$(IFS='|'; printf '%s' "${layers[*]:i+1}")
  [ -z "$later" ] || forbid "framework/${layers[i]} includes a later layer" \
    "larder/($later)/" "framework/${layers[i]}/include" "framework/${layers[i]}/src"
done
forbid "a plugin includes more than the API" "larder/[a-z_]+/" plugins
forbid "a hosted app includes more than the API" "larder/[a-z_]+/" sample-app
forbid "the API includes Poco" "Poco/" framework/api
forbid "a public header includes a library that is to stay private" \
  "Poco/Net/|toml|nlohmann/|lua" framework/{api,cache,site,http,server}/include
exit "$status"
