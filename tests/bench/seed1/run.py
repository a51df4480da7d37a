#!/usr/bin/python3
"""Runs and compares; started by tests/bench/seed1.sh, which says what is measured."""
import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BUILD = "build/release"
HERE = os.path.dirname(os.path.abspath(__file__))
GETS = {"test1": 4004, "test2": 620}
PAGES = {"test1": 1, "test2": 10}      # requests of larder serve that make up a test
ANSWER = {"test1": "100100", "test2": "3720"}
PEERS = ("python-memcached", "python-memcached pickle 4", "pylibmc", "pymemcache", "dogpile.cache")
# Goals of rows: test, row, "at most" or "at least", factor, row that it is compared with.
GOALS = (
    ("test1", "manager, bytes", "<=", 1.05, "memcached_get"),
    ("test2", "manager, bytes", "<=", 1.08, "memcached_get"),
    ("test1", "manager, decoded views", "<=", 1.10, "memcached_get"),
    ("test2", "manager, decoded views", "<=", 1.22, "memcached_get"),
    ("test1", "manager, decoded views", ">=", 1.0, "pylibmc"),
    ("test1", "manager, decoded views", ">=", 2.2, "python-memcached"),
    ("test1", "manager, decoded views, one multi-get a page", ">=", 3.0, "pylibmc"),
    ("test2", "MemcachedManager, C++, manifest on", ">=", 5.5, "pylibmc"),
    ("test2", "MemcachedManager, C++, manifest on", ">=", 15.0, "python-memcached"),
    ("test1", "TieredManager, C++", ">=", 50.0, "pylibmc"),
    ("test2", "TieredManager, C++", ">=", 100.0, "pylibmc"),
    ("test2", "TieredManager, C++, the calls of ten pages in one", ">=", 100.0, "pylibmc"),
    ("test1", "TieredManager, Lua", ">=", 10.0, "pylibmc"),
    ("test2", "TieredManager, Lua", ">=", 10.0, "pylibmc"),
)


def die(message):
    sys.exit("seed1: " + message)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_ms(pids):
    """Processor time of whole processes; the clock's number is made as clock_getcpuclockid does."""
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids) * 1000


def wait_for(port, process, log):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
    die("nothing listens on port %d:\n%s" % (port, open(log).read()))


class Row:
    """One client under one load. run() does it once and gives its real ms."""

    def __init__(self, test, name, run, pids, exact):
        self.test, self.name, self.run, self.pids, self.exact = test, name, run, pids, exact
        self.real, self.cpu, self.gets, self.trips = [], [], None, None


class Memcached:
    def __init__(self, folder):
        self.port = free_port()
        self.address = "127.0.0.1:%d" % self.port
        log = os.path.join(folder, "memcached.log")
        user = ["-u", "nobody"] if os.getuid() == 0 else []
        self.process = subprocess.Popen(
            ["memcached", *user, "-l", "127.0.0.1", "-p", str(self.port), "-m", "256"],
            stdout=open(log, "w"), stderr=subprocess.STDOUT)
        wait_for(self.port, self.process, log)

    def gets(self):
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(b"stats\r\n")
            text = b""
            while not text.endswith(b"END\r\n"):
                text += s.recv(65536)
        return int(text.split(b"STAT cmd_get ")[1].split()[0])


class Runner:
    """A program that runs one load for each line that it reads."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            die("%s ended" % self.process.args[0])
        return line.rstrip("\n")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.line()


def together(jobs):
    """All at once; the real ms of the longest."""
    if len(jobs) == 1:
        return jobs[0]()
    times = [None] * len(jobs)
    problems = []

    def run(i):
        try:
            times[i] = jobs[i]()
        except BaseException as problem:  # in a thread, die() would go unheard
            problems.append("%s" % problem)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        sys.exit(problems[0])
    return max(times)


def peer_rows(memcached, processes):
    runners = [Runner([sys.executable, os.path.join(HERE, "peers.py"), memcached.address])
               for _ in range(processes)]
    versions = [json.loads(r.line()) for r in runners][0]

    def job(runner, line):
        answer = runner.ask(line)
        if answer.startswith("error"):
            die("%s: %s" % (line, answer))
        return float(answer)
    rows = []
    for test in GETS:
        for mode in ("single", "multi"):
            for client in PEERS:
                name = client + (", one multi-get a page" if mode == "multi" else "")
                line = "%s|%s|%s" % (client, test, mode)
                rows.append(Row(test, name,
                                lambda l=line: together([lambda r=r: job(r, l) for r in runners]),
                                [r.process.pid for r in runners], mode == "single"))
    return rows, versions, [r.process for r in runners]


class Larder:
    """`larder serve` with the app mounted once for each manager."""

    MANAGERS = {
        "ram": 'type = "RAMCache"',
        "single": 'type = "MemcachedManager"\nservers = ["{server}"]\nprefetch = false',
        "manifest": 'type = "MemcachedManager"\nservers = ["{server}"]',
        "tiered": 'type = "TieredManager"\nl1 = "ram"\nl2 = "manifest"',
    }

    def __init__(self, folder, memcached, processes):
        self.folder, self.port = folder, free_port()
        app = os.path.join(folder, "app")
        shutil.copytree(os.path.join(HERE, "app"), app)
        self.mounts = [m for m in self.MANAGERS
                       if m != "tiered" or os.path.exists(BUILD + "/lib/larder/plugins/tiered.so")]
        text = ('[site]\ndata = "%s/data"\n[http]\nport = %d\nidle_timeout = "1h"\n[management]\nport = %d\n'
                '[plugins]\napp_folders = ["%s/tests/bin/apps"]\n'
                % (folder, self.port, free_port(), os.path.abspath(BUILD)))
        for mount in self.mounts:
            settings = self.MANAGERS[mount].replace("{server}", memcached.address)
            text += '[[app]]\nmount = "/%s"\nfolder = "%s"\n' % (mount, app)
            text += '[[manager]]\nid = "%s"\npath = "/"\n%s\n' % (mount, settings)
            text += '[[rule]]\npath = "/%s"\nmanager = "%s"\n' % (mount, mount)
            for view in ("test1_script", "test2_script", "test1_native", "test2_native",
                         "test2_calls"):
                text += ('[[rule]]\npath = "/%s"\nview = "%s"\nmanager = "none"\n'
                         % (mount, view))
        self.conf = os.path.join(folder, "larder.toml")
        open(self.conf, "w").write(text)
        log = os.path.join(folder, "larder.log")
        command = [BUILD + "/bin/larder", "serve", self.conf]
        if processes > 1:
            command += ["--processes", str(processes)]
        self.process = subprocess.Popen(command, stdout=open(log, "w"), stderr=subprocess.STDOUT)
        wait_for(self.port, self.process, log)

    def pids(self):
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], text=True,
                                  stdout=subprocess.PIPE, check=False).stdout.split()
        return [int(c) for c in children] or [self.process.pid]

    def fetch(self, connections, number, target):
        """Over the connection of that number, made when it is first used: silent ones are closed."""
        if number not in connections:
            connections[number] = socket.create_connection(("127.0.0.1", self.port))
        connection = connections[number]
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % target.encode())
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                die("larder closed the connection; see its log:\n"
                    + open(os.path.join(self.folder, "larder.log")).read())
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < size:
            body += connection.recv(65536)
        if not head.startswith(b"HTTP/1.1 200"):
            die("%s: %s" % (target, body.decode(errors="replace")))
        return body.decode()

    def trips(self, manager):
        """Requests that the manager has sent to its servers, if it counts them."""
        report = json.loads(subprocess.run([BUILD + "/bin/larder", "stats", "--json", "-c",
                                            self.conf], check=True, stdout=subprocess.PIPE).stdout)
        return next(m["stats"].get("requests") for m in report["managers"] if m["id"] == manager)


def larder_rows(larder, processes):
    titles = {"ram": "RAMCache, %s", "single": "MemcachedManager, %s",
              "manifest": "MemcachedManager, %s, manifest on", "tiered": "TieredManager, %s"}
    # Which worker a connection meets is up to the kernel; with several of them each worker has some.
    connections = {}

    def job(number, target, test):
        pages = 1 if target.endswith("calls") else PAGES[test]
        count = str(int(ANSWER[test]) * PAGES[test] // pages)
        start = time.perf_counter()
        for _ in range(pages):
            if larder.fetch(connections, number, target) != count:
                die("%s: a wrong answer" % target)
        return (time.perf_counter() - start) * 1000

    def run(target, test):
        if processes == 1:
            return job(0, target, test)
        # As much work as the peers do, spread over the connections.
        start = time.perf_counter()
        work = [0] * processes
        lock = threading.Lock()

        def loop(number):
            while True:
                with lock:
                    if not work:
                        return 0.0
                    work.pop()
                job(number, target, test)
        together([lambda n=n: loop(n) for n in range(4 * processes)])
        return (time.perf_counter() - start) * 1000
    rows = []
    for test in GETS:
        for language, kind in (("C++", "native"), ("Lua", "script")):
            for mount in larder.mounts:
                target = "/%s/@@%s_%s" % (mount, test, kind)
                row = Row(test, titles[mount] % language, lambda t=target, n=test: run(t, n),
                          larder.pids(), mount == "single")
                row.manager = mount
                rows.append(row)
    # Of what is in the process: what the calls take without ten requests around them.
    for mount in ("ram", "tiered"):
        if mount in larder.mounts:
            name = titles[mount] % "C++" + ", the calls of ten pages in one"
            row = Row("test2", name, lambda t="/%s/@@test2_calls" % mount: run(t, "test2"),
                      larder.pids(), False)
            row.manager = mount
            rows.append(row)
    return rows


def bare_rows(runner):
    """The rows of bench_memcached, which measures its own processes."""
    rows = []
    for number in range(1000):
        line = runner.line()
        if not line:
            return rows
        transport, name, test = line.split("|")
        row = Row(test, name if transport == "tcp" else name + ", Unix socket", None, None,
                  True)
        row.number = number
        rows.append(row)
    die("bench_memcached does not stop to list its rows")


def measure(row, memcached, bare, processes):
    if row.pids is None:
        real, cpu, gets = bare.ask(str(row.number)).split()
        return float(real), float(cpu), int(gets)
    gets = memcached.gets()
    pids = row.pids + [memcached.process.pid]
    cpu = cpu_ms(pids)
    real = row.run()
    return real, cpu_ms(pids) - cpu, memcached.gets() - gets


def report(rows, args, versions, exact):
    key = "cpu" if args.processes == 1 else "real"
    result = {"processes": args.processes, "rounds": args.rounds, "versions": versions,
              "compared": key, "exact": exact, "rows": [], "goals": []}
    medians = {}
    for test in GETS:
        of_test = [r for r in rows if r.test == test]
        base = statistics.median(getattr(next(r for r in of_test if r.name == "pylibmc"), key))
        print("\n%s: %d gets%s" % (test, GETS[test],
                                   "" if args.processes == 1 else " in each process"))
        print("  %-58s %9s %9s %8s %7s %7s" % ("", "real ms", "cpu ms", "gets", "trips",
                                               "pylibmc"))
        for row in of_test:
            real, cpu = statistics.median(row.real), statistics.median(row.cpu)
            value = medians[test, row.name] = real if key == "real" else cpu
            print("  %-58s %9.2f %9.2f %8d %7s %6.2fx" % (
                row.name, real, cpu, row.gets, "" if row.trips is None else row.trips,
                base / value))
            result["rows"].append({"test": test, "row": row.name, "real_ms": round(real, 3),
                                   "cpu_ms": round(cpu, 3), "gets": row.gets,
                                   "round_trips": row.trips,
                                   "times_pylibmc": round(base / value, 3)})
    if args.processes == 1:
        print("\nGoals")
        for test, name, relation, factor, other in GOALS:
            if (test, name) not in medians:
                print("  %s %s: not measured, it is not built" % (test, name))
                continue
            mine, theirs = medians[test, name], medians[test, other]
            reached = mine / theirs if relation == "<=" else theirs / mine
            met = reached <= factor if relation == "<=" else reached >= factor
            what = "%s %s: %s %.2f x %s" % (test, name, "at most" if relation == "<=" else
                                            "at least", factor, other)
            print("  %-90s %7.2f  %s" % (what, reached, "met" if met else "MISSED"))
            result["goals"].append({"goal": what, "reached": round(reached, 3), "met": met})
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=1)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench seed1", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--no-pin", action="store_true")
    args = parser.parse_args()
    if args.rounds < 1 or args.processes < 1:
        parser.error("--rounds and --processes are at least 1")
    if args.processes == 1 and not args.no_pin:
        os.sched_setaffinity(0, {0})  # and so all that is started here
    folder = tempfile.mkdtemp(prefix="seed1-")
    started = []
    try:
        memcached = Memcached(folder)
        started.append(memcached.process)
        rows, versions, peers = peer_rows(memcached, args.processes)
        started += peers
        bare = None
        if args.processes == 1:
            bare = Runner([BUILD + "/tests/bin/bench_memcached", "--runner"]
                          + (["--no-pin"] if args.no_pin else []))
            started.append(bare.process)
            rows = bare_rows(bare) + rows
        larder = Larder(folder, memcached, args.processes)
        started.append(larder.process)
        rows += larder_rows(larder, args.processes)
        exact = True
        for row in rows:
            measure(row, memcached, bare, args.processes)  # fills what is cold
            # With several processes each has its own manifest and near cache to fill.
            for _ in range(1 if args.processes == 1 else 3):
                measure(row, memcached, bare, args.processes)
            trips = larder.trips(row.manager) if hasattr(row, "manager") else None
            _, _, row.gets = measure(row, memcached, bare, args.processes)
            if trips is not None:
                row.trips = larder.trips(row.manager) - trips
            if row.exact and row.gets != GETS[row.test] * args.processes:
                print("%s %s: the server counted %d gets instead of %d"
                      % (row.test, row.name, row.gets, GETS[row.test] * args.processes))
                exact = False
        for _ in range(args.rounds):
            for row in rows:
                real, cpu, _ = measure(row, memcached, bare, args.processes)
                row.real.append(real)
                row.cpu.append(cpu)
        report(rows, args, versions, exact)
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
        for process in started:
            process.wait()
        shutil.rmtree(folder)
    sys.exit(0 if exact else 1)


if __name__ == "__main__":
    main()
