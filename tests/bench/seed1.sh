#!/usr/bin/env bash
# The two loads of the first seed: 4,004 gets of a list of 25 dictionaries, called 1,001 times by a script, and 620 gets
# of largeish user objects in 10 page views. `larder serve` with RAMCache, MemcachedManager and, where it is built,
# TieredManager, called by C++ and by Lua views, beside Python's memcached clients and a bare libmemcached, all in each
# round; then the same with the request's memo and the learned manifest. Python's clients make no pages, so what is in
# the process is measured once more with the calls of all ten pages in one request.
#
#   scripts/bench seed1 [--rounds 7] [--processes N] [--json FILE] [--no-pin]
#
# Printed are medians in milliseconds of the processor time that client and server took together, which on one processor
# is the time that passes, without what other programs do meanwhile; real time stands beside it. Everything runs on
# processor 0 unless --no-pin or --processes say otherwise. With --processes N, N processes of each kind do the load at
# once; then it is real time that counts, and goals are not judged. Ends with 1 if a server did not count exactly 4,004
# or 620 gets where memo and manifest are off.
# Builds: bench_memcached seed1_app
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
exec /usr/bin/python3 tests/bench/seed1/run.py "$@"
