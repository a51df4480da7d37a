#!/usr/bin/env bash
# Comments as JSON, one object and a list of 25, without a cache and from it, beside nginx that reads the same bytes from
# memcached: ab -n 10000 -c 50, a new connection for each request, as a browser's first request is. Medians of some
# rounds, all servers in each round.
#
#   scripts/bench seed2 [--rounds N] [--requests N]
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

rounds=3
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

memcached_port=$(free_port)
as_nobody=()
[ "$(id -u)" -ne 0 ] || as_nobody=(-u nobody)
memcached "${as_nobody[@]}" -l 127.0.0.1 -p "$memcached_port" -m 64 &
pids+=($!)
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
  build/release/bin/larder serve "$dir/$name.toml" >"$dir/$name.log" 2>&1 &
  pids+=($!)
  wait_for "$port"
}
start_larder ram 'type = "RAMCache"'
ram=$port
start_larder memcached "type = \"MemcachedManager\"
servers = [\"127.0.0.1:$memcached_port\"]"
shared=$port

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
/usr/sbin/nginx -c "$dir/nginx.conf" -e "$dir/nginx.log" &
pids+=($!)
wait_for "$nginx_port"

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

# rate PORT PATH: requests a second; anything but complete 2xx answers ends the run.
rate() {
  ab -q -n "$requests" -c 50 "http://127.0.0.1:$1$2" >"$dir/ab" 2>&1 || die "ab failed: $(tail -3 "$dir/ab")"
  if ! grep -q '^Failed requests: *0$' "$dir/ab" || grep -q '^Non-2xx' "$dir/ab"; then
    die "wrong answers from port $1: $(cat "$dir/ab")"
  fi
  awk '/^Requests per second/ {print $4}' "$dir/ab"
}

declare -A rates
measure() { rates[$1]+="$(rate "$2" "$3") "; }
for _ in $(seq "$rounds"); do
  for what in one list; do
    path=${!what}
    measure "$what nginx" "$nginx_port" "$path"
    measure "$what uncached" "$ram" "$path/no_cache"
    measure "$what RAMCache" "$ram" "$path"
    measure "$what MemcachedManager" "$shared" "$path"
  done
done

median() { tr ' ' '\n' <<<"$1" | grep . | sort -g | awk '{v[NR]=$1} END {print v[int((NR + 1) / 2)]}'; }
printf '\n%-34s %12s %10s %12s %10s\n' "requests a second (ratio)" "one object" "" "25 objects" ""
for row in "nginx + memcached_pass:nginx" "Larder, not cached:uncached" "Larder, RAMCache:RAMCache" \
  "Larder, MemcachedManager:MemcachedManager"; do
  key=${row#*:}
  line=()
  for what in one list; do
    value=$(median "${rates[$what $key]}")
    base=$(median "${rates[$what nginx]}")
    line+=("$value" "$(awk -v a="$value" -v b="$base" 'BEGIN {printf "%.2f", a / b}')")
  done
  printf '%-34s %12s %10s %12s %10s\n' "${row%%:*}" "${line[@]}"
done
printf '\nGoal: from RAMCache at least 1.15 x nginx + memcached.\n'
