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

dir=$(mktemp -d)
pids=()
# shellcheck disable=SC2317  # called by the trap
cleanup() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap cleanup EXIT

free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}
wait_for() {
  for _ in $(seq 200); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    sleep 0.05
  done
  die "nothing listens on port $1; see $dir"
}

on_servers_core=()
on_clients_core=()
if [ "$(nproc)" -gt 1 ]; then
  on_servers_core=(taskset -c 1)
  on_clients_core=(taskset -c 0)
fi

memcached_port=$(free_port)
as_nobody=()
[ "$(id -u)" -ne 0 ] || as_nobody=(-u nobody)
"${on_servers_core[@]}" memcached "${as_nobody[@]}" -l 127.0.0.1 -p "$memcached_port" -m 64 &
memcached_pid=$!
pids+=("$memcached_pid")
wait_for "$memcached_port"

# start_larder MANAGER-TABLE-LINES...: sets `port`.
start_larder() {
  local name=$1 manager=$2
  port=$(free_port)
  cat >"$dir/$name.toml" <<CONF
[site]
data = "$dir/$name"
[http]
port = $port
[management]
enabled = false
[[app]]
mount = "/api/v1"
library = "comments.so"
[[manager]]
id = "main"
default = true
$manager
[[rule]]
path = "/api/v1/**/no_cache"
manager = "none"
CONF
  "${on_servers_core[@]}" build/release/bin/larder serve "$dir/$name.toml" >"$dir/$name.log" 2>&1 &
  pid=$!
  pids+=("$pid")
  wait_for "$port"
}
start_larder ram 'type = "RAMCache"'
ram=$port
ram_pid=$pid
start_larder memcached "type = \"MemcachedManager\"
servers = [\"127.0.0.1:$memcached_port\"]"
shared=$port
shared_pid=$pid

nginx_port=$(free_port)
mkdir "$dir/nginx"
cat >"$dir/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $dir/nginx.pid;
error_log $dir/nginx.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path $dir/nginx; proxy_temp_path $dir/nginx; fastcgi_temp_path $dir/nginx;
  uwsgi_temp_path $dir/nginx; scgi_temp_path $dir/nginx;
  upstream store { server 127.0.0.1:$memcached_port; keepalive 64; }
  server {
    listen 127.0.0.1:$nginx_port;
    default_type application/json;
    location / { set \$memcached_key \$uri; memcached_pass store; }
  }
}
CONF
"${on_servers_core[@]}" /usr/sbin/nginx -c "$dir/nginx.conf" -e "$dir/nginx.log" &
pids+=($!)
wait_for "$nginx_port"
nginx_pid=$(pgrep -P $!)  # the worker

one=/api/v1/comments/5
list=/api/v1/comments/users/3
for path in $one $list; do
  curl -sf "http://127.0.0.1:$ram$path" -o "$dir/body"
  exec 3<>"/dev/tcp/127.0.0.1/$memcached_port"
  { printf 'set %s 0 0 %s\r\n' "$path" "$(stat -c %s "$dir/body")"; cat "$dir/body"; printf '\r\n'; } >&3
  read -r stored <&3
  exec 3<&-
  [ "${stored%$'\r'}" = STORED ] || die "memcached did not store $path: $stored"
  for port in "$shared" "$nginx_port"; do
    curl -sf "http://127.0.0.1:$port$path" | cmp -s - "$dir/body" || die "port $port answers $path with other bytes"
  done
done

# ticks PID...: the clock ticks that these processes have run.
ticks() { cat "${@/%//stat}" | sed 's/.*) //' | awk '{sum += $12 + $13} END {print sum}'; }
tick_us=$((1000000 / $(getconf CLK_TCK)))

declare -A rates costs
# measure NAME PORT PATH PID...: requests a second, and CPU of these processes for one; anything but complete 2xx answers
# ends the run.
measure() {
  local name=$1 port=$2 path=$3 before spent
  local stats=("${@:4}")
  stats=("${stats[@]/#//proc/}")
  before=$(ticks "${stats[@]}")
  "${on_clients_core[@]}" ab -q -n "$requests" -c 50 "http://127.0.0.1:$port$path" >"$dir/ab" 2>&1 ||
    die "ab failed: $(tail -3 "$dir/ab")"
  spent=$(($(ticks "${stats[@]}") - before))
  if ! grep -q '^Failed requests: *0$' "$dir/ab" || grep -q '^Non-2xx' "$dir/ab"; then
    die "wrong answers from port $port: $(cat "$dir/ab")"
  fi
  rates[$name]+="$(awk '/^Requests per second/ {print $4}' "$dir/ab") "
  costs[$name]+="$(awk -v t="$spent" -v us="$tick_us" -v n="$requests" 'BEGIN {printf "%.1f", t * us / n}') "
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

median() { tr ' ' '\n' <<<"$1" | grep . | sort -g | awk '{v[NR]=$1} END {print v[int((NR + 1) / 2)]}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }
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
  met=$(awk -v r="${ratios[$what RAMCache]}" 'BEGIN {print (r >= 1.15) ? "met" : "missed"}')
  printf 'Goal, %s: RAMCache at least 1.15 x nginx + memcached: %s (%s)\n' "$what" "$met" "${ratios[$what RAMCache]}"
done
