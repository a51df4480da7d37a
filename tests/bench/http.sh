#!/usr/bin/env bash
# Hits over connections that stay open, beside nginx: 50 connections, a small JSON answer and a page of 20 KB. nginx reads
# the same bytes from memcached over a Unix socket with kept connections, which is its best form, serves them as a file,
# and answers with a constant. One worker or reactor each, on one core; the client, which costs less than the servers, on
# the other. Medians of some rounds, all servers in each round.
#
#   scripts/bench http [--rounds N] [--seconds S]
#
# Builds: bench_load_generator
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

rounds=4
seconds=3
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    *) die "unknown argument '$1'; try --rounds N or --seconds S" ;;
  esac
done

# shellcheck source=tests/bench/lib/web.sh
. tests/bench/lib/web.sh
small=/api/v1/comments/5
large=/bench/large
mkdir "$dir/app"
printf '%s\n' '[[route]]' 'pattern = "/large"' 'view = "large"' '[[view]]' 'name = "large"' 'kind = "script"' \
  'file = "large.lua"' >"$dir/app/app.toml"
printf 'return ("<p>twenty thousand bytes of text</p>\\n"):rep(525)\n' >"$dir/app/large.lua"
app="[[app]]
mount = \"/bench\"
folder = \"$dir/app\""

start_memcached
start_larder ram 'type = "RAMCache"' "$app"
ram=$port
ram_pid=$pid
start_larder memcached "type = \"MemcachedManager\"
servers = [\"$memcached_socket\"]" "$app"
shared=$port
shared_pid=$pid
mkdir -p "$dir/files/file/api/v1/comments" "$dir/files/file/bench"
start_nginx "location /constant/ { return 200 '{\"id\": 5}'; } location /file/ { root $dir/files; }"

for path in $small $large; do
  curl -sf "http://127.0.0.1:$ram$path" -o "$dir/files/file$path"
  keep_in_memcached "$path" "$dir/files/file$path"
  for url in "$shared$path" "$nginx_port$path" "$nginx_port/file$path"; do
    curl -sf "http://127.0.0.1:$url" | cmp -s - "$dir/files/file$path" || die "port $url answers with other bytes"
  done
done

declare -A rates costs tails
# measure NAME PORT PATH PID...
measure() {
  local name=$1 port=$2 path=$3 before
  shift 3
  before=$(ticks "$@")
  "${on_clients_core[@]}" build/release/tests/bin/bench_load_generator --port "$port" --path "$path" \
    --seconds "$seconds" >"$dir/load" || die "wrong answers from port $port: $(cat "$dir/load")"
  # requests/s 1  p50 2 ms  p99 3 ms  max 4 ms  requests 5  errors 0 ...
  read -r rate tail count < <(awk '{print $2, $7, $13}' "$dir/load")
  rates[$name]+="$rate "
  tails[$name]+="$tail "
  costs[$name]+="$(cpu_us $(($(ticks "$@") - before)) "$count") "
}
for _ in $(seq "$rounds"); do
  for what in small large; do
    path=${!what}
    measure "$what nginx" "$nginx_port" "$path" "$nginx_pid" "$memcached_pid"
    measure "$what file" "$nginx_port" "/file$path" "$nginx_pid"
    measure "$what constant" "$nginx_port" "/constant/" "$nginx_pid"
    measure "$what RAMCache" "$ram" "$path" "$ram_pid"
    measure "$what MemcachedManager" "$shared" "$path" "$shared_pid" "$memcached_pid"
  done
done

sizes=()
for path in $small $large; do sizes+=("$(stat -c %s "$dir/files/file$path") bytes"); done
printf '\n%-26s %35s %35s\n' "" "${sizes[@]}"
printf '%-26s %10s %6s %8s %8s %10s %6s %8s %8s\n' "" "requests/s" ratio "us CPU" "p99 ms" "requests/s" ratio "us CPU" "p99 ms"
declare -A ratios
for row in "nginx + memcached_pass:nginx" "nginx, static file:file" "nginx, return 200:constant" "Larder, RAMCache:RAMCache" \
  "Larder, MemcachedManager:MemcachedManager"; do
  key=${row#*:}
  line=()
  for what in small large; do
    value=$(median "${rates[$what $key]}")
    ratios[$what $key]=$(ratio "$value" "$(median "${rates[$what nginx]}")")
    line+=("$value" "${ratios[$what $key]}" "$(median "${costs[$what $key]}")" "$(median "${tails[$what $key]}")")
  done
  printf '%-26s %10s %6s %8s %8s %10s %6s %8s %8s\n' "${row%%:*}" "${line[@]}"
done
for what in small large; do
  judge "$what, RAMCache over nginx + memcached" "${ratios[$what RAMCache]}" 3.0
  judge "$what, MemcachedManager over nginx + memcached" "${ratios[$what MemcachedManager]}" 0.8
done
judge "small, RAMCache over nginx's constant" "$(ratio "${ratios[small RAMCache]}" "${ratios[small constant]}")" 1.0
