#!/usr/bin/env bash
# Fails if one of the given object archives or modules refers to a calendar: on a request's path, time is
# integer milliseconds, and what a date needs of a calendar is framework/http/http_date.
set -euo pipefail

calendar='Poco::(LocalDateTime|DateTime|Timezone)|\b(strftime|strptime|localtime|gmtime|mktime|timegm)(_r|_l|_s)?\b'
status=0
for binary in "$@"; do
  symbols=$(nm --demangle "$binary" 2>/dev/null)
  [ -n "$symbols" ] || { printf '%s: no symbols to check\n' "$binary"; exit 1; }
  if found=$(grep -E "$calendar" <<<"$symbols"); then
    printf '%s refers to:\n%s\n' "$binary" "$found"
    status=1
  fi
done
exit "$status"
