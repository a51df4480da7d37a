#!/usr/bin/env bash
# Comments as JSON, one object and a list of 25, without a cache and from it, beside nginx that reads the same bytes from
# memcached: ab -n 10000 -c 50, a new connection for each request, as a browser's first request is. Medians of some
# rounds, all servers in each round. Servers and client have a core each, so that the client's cost is no server's;
# beside requests a second stands what the server's processes (memcached included) spend on one, since ab may be what
# is slowest.
#
#   scripts/bench seed2 [--rounds N] [--requests N]
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

rounds=5
requests=10000
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --requests) requests=$2; shift 2 ;;
    *) die "unknown argument '$1'; try --rounds N or --requests N" ;;
  esac
done

# shellcheck source=tests/bench/lib/web.sh
. tests/bench/lib/web.sh
start_memcached
start_larder ram 'type = "RAMCache"'
ram=$port
ram_pid=$pid
start_larder memcached "type = \"MemcachedManager\"
servers = [\"$memcached_socket\"]"
shared=$port
shared_pid=$pid
start_nginx ""

one=/api/v1/comments/5
list=/api/v1/comments/users/3
for path in $one $list; do
  curl -sf "http://127.0.0.1:$ram$path" -o "$dir/body"
  keep_in_memcached "$path" "$dir/body"
  for port in "$shared" "$nginx_port"; do
    curl -sf "http://127.0.0.1:$port$path" | cmp -s - "$dir/body" || die "port $port answers $path with other bytes"
  done
done

declare -A rates costs
# measure NAME PORT PATH PID...: requests a second, and CPU of these processes for one; anything but complete 2xx answers
# ends the run.
measure() {
  local name=$1 port=$2 path=$3 before
  shift 3
  before=$(ticks "$@")
  "${on_clients_core[@]}" ab -q -n "$requests" -c 50 "http://127.0.0.1:$port$path" >"$dir/ab" 2>&1 ||
    die "ab failed: $(tail -3 "$dir/ab")"
  costs[$name]+="$(cpu_us $(($(ticks "$@") - before)) "$requests") "
  if ! grep -q '^Failed requests: *0$' "$dir/ab" || grep -q '^Non-2xx' "$dir/ab"; then
    die "wrong answers from port $port: $(cat "$dir/ab")"
  fi
  rates[$name]+="$(awk '/^Requests per second/ {print $4}' "$dir/ab") "
}
for _ in $(seq "$rounds"); do
  for what in one list; do
    path=${!what}
    measure "$what nginx" "$nginx_port" "$path" "$nginx_pid" "$memcached_pid"
    measure "$what uncached" "$ram" "$path/no_cache" "$ram_pid"
    measure "$what RAMCache" "$ram" "$path" "$ram_pid"
    measure "$what MemcachedManager" "$shared" "$path" "$shared_pid" "$memcached_pid"
  done
done

printf '\n%-26s %26s %26s\n' "" "one object" "25 objects"
printf '%-26s %10s %6s %8s %10s %6s %8s\n' "" "requests/s" ratio "us CPU" "requests/s" ratio "us CPU"
declare -A ratios
for row in "nginx + memcached_pass:nginx" "Larder, not cached:uncached" "Larder, RAMCache:RAMCache" \
  "Larder, MemcachedManager:MemcachedManager"; do
  key=${row#*:}
  line=()
  for what in one list; do
    value=$(median "${rates[$what $key]}")
    ratios[$what $key]=$(ratio "$value" "$(median "${rates[$what nginx]}")")
    line+=("$value" "${ratios[$what $key]}" "$(median "${costs[$what $key]}")")
  done
  printf '%-26s %10s %6s %8s %10s %6s %8s\n' "${row%%:*}" "${line[@]}"
done
for what in one list; do
  judge "$what, RAMCache over nginx + memcached" "${ratios[$what RAMCache]}" 1.15
done
