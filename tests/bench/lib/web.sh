# shellcheck shell=bash disable=SC2034
# Web servers side by side: memcached, nginx in front of it, Larder. Sourced by benchmarks, after scripts/lib.sh; what it
# starts ends with the script. Servers and client have a core each, so that the client's cost is no server's.
dir=$(mktemp -d)
pids=()
# shellcheck disable=SC2317  # called by the trap
cleanup() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap cleanup EXIT

on_servers_core=()
on_clients_core=()
if [ "$(nproc)" -gt 1 ]; then
  on_servers_core=(taskset -c 1)
  on_clients_core=(taskset -c 0)
fi

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
  die "nothing listens on port $1: $(tail -n 3 "$dir"/*.log 2>/dev/null)"
}

# start_memcached: sets memcached_socket and memcached_pid.
start_memcached() {
  local as_nobody=()
  [ "$(id -u)" -ne 0 ] || { as_nobody=(-u nobody); chmod 711 "$dir"; install -d -o nobody "$dir/memcached"; }
  mkdir -p "$dir/memcached"
  memcached_socket=$dir/memcached/socket
  "${on_servers_core[@]}" memcached "${as_nobody[@]}" -s "$memcached_socket" -a 0777 -m 64 &
  memcached_pid=$!
  pids+=("$memcached_pid")
  for _ in $(seq 100); do [ ! -S "$memcached_socket" ] || return 0; sleep 0.05; done
  die "memcached did not start"
}

# keep_in_memcached KEY FILE: the file's bytes, as nginx will look for them.
keep_in_memcached() {
  python3 - "$memcached_socket" "$1" "$2" <<'PYTHON'
import socket, sys
path, key, file = sys.argv[1:]
body = open(file, "rb").read()
with socket.socket(socket.AF_UNIX) as server:
    server.connect(path)
    server.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(body), body))
    answer = server.recv(100)
    if answer != b"STORED\r\n":
        sys.exit(f"memcached did not store {key}: {answer!r}")
PYTHON
}

# start_nginx LOCATION-LINE...: these locations beside one that reads memcached; sets nginx_port and nginx_pid.
start_nginx() {
  nginx_port=$(free_port)
  mkdir -p "$dir/nginx"
  cat >"$dir/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $dir/nginx.pid;
error_log $dir/nginx.log;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 100000000;
  sendfile on;
  client_body_temp_path $dir/nginx; proxy_temp_path $dir/nginx; fastcgi_temp_path $dir/nginx;
  uwsgi_temp_path $dir/nginx; scgi_temp_path $dir/nginx;
  upstream store { server unix:$memcached_socket; keepalive 64; }
  server {
    listen 127.0.0.1:$nginx_port;
    default_type application/json;
    location / { set \$memcached_key \$uri; memcached_pass store; }
    $*
  }
}
CONF
  "${on_servers_core[@]}" /usr/sbin/nginx -c "$dir/nginx.conf" -e "$dir/nginx.log" &
  pids+=($!)
  wait_for "$nginx_port"
  nginx_pid=$(pgrep -P $!) # the worker
}

# start_larder NAME MANAGER-LINES [MORE-LINES]: with the comments at /api/v1; sets port and pid.
start_larder() {
  local name=$1 manager=$2 more=${3:-}
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
$more
CONF
  "${on_servers_core[@]}" build/release/bin/larder serve "$dir/$name.toml" >"$dir/$name.log" 2>&1 &
  pid=$!
  pids+=("$pid")
  wait_for "$port"
}

# ticks PID...: the clock ticks that these processes have run.
ticks() {
  local stats=("${@/#//proc/}")
  cat "${stats[@]/%//stat}" | sed 's/.*) //' | awk '{sum += $12 + $13} END {print sum}'
}
# cpu_us TICKS REQUESTS: microseconds a request.
cpu_us() { awk -v t="$1" -v n="$2" -v hz="$(getconf CLK_TCK)" 'BEGIN {printf "%.1f", t * 1e6 / hz / n}'; }

median() { tr ' ' '\n' <<<"$1" | grep . | sort -g | awk '{v[NR]=$1} END {print v[int((NR + 1) / 2)]}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }
# judge WHAT RATIO GOAL
judge() {
  printf 'Goal: %s at least %s: %s (%s)\n' "$1" "$3" \
    "$(awk -v r="$2" -v g="$3" 'BEGIN {print (r >= g) ? "met" : "missed"}')" "$2"
}
