#!/usr/bin/python3
"""Python's memcached clients under the two loads of the first seed, one command at a time.

  peers.py HOST:PORT|/SOCKET

Reads lines "CLIENT|TEST|MODE" (CLIENT: a name of CLIENTS, TEST: test1 or test2, MODE: single or multi), runs that load
once and answers "MILLISECONDS", or "error WHY". The first answer is a JSON object of the versions. Every value is
fetched and unpickled, as a cache manager would; what is not there yet is stored first.
"""
import gc
import json
import platform
import sys
import time

CALLS1, KEYS1 = 1001, 4
PAGES2, KEYS2 = 10, 62
WORDS = ("cache plugin server object value portal member folder document event "
         "news link image file topic workflow state review private public "
         "catalog index metadata query result batch view page layout").split()


class Lcg:
    """The same data on every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound

    def words(self, count):
        return " ".join(WORDS[self.below(len(WORDS))] for _ in range(count))


def make_list(variant):
    rnd = Lcg(1)
    return [{"Title": rnd.words(4).title(),
             "Description": rnd.words(12),
             "url": "http://localhost:8080/portal/folder-%d/document-%d?%d" % (i % 5, i, variant)}
            for i in range(25)]


def make_user(number):
    rnd = Lcg(1000 + number)
    groups = [{"id": "group-%d" % rnd.below(500), "title": rnd.words(3),
               "roles": [rnd.words(1) for _ in range(3)], "order": g + 1} for g in range(15)]
    sheets = {"sheet%d" % s: {"field%d" % f: (rnd.words(4) if f % 3 else rnd.below(10**6))
                              for f in range(14)} for s in range(12)}
    local_roles = {"/portal/%s/%d" % (rnd.words(1), k): ["Owner", "Editor"] if k % 2 else ["Reader"]
                   for k in range(30)}
    history = [[1230768000 + rnd.below(10**7), rnd.words(1), rnd.below(2) == 1] for _ in range(60)]
    return {"id": "user%d" % number, "login": "user%d@example.org" % number,
            "fullname": rnd.words(2), "active": True, "score": rnd.below(10000) / 64,
            "created": 1230768000 + rnd.below(10**7),
            "roles": ["Member", "Authenticated", "Reviewer", "Contributor"], "groups": groups,
            "sheets": sheets, "local_roles": local_roles, "history": history,
            "description": rnd.words(160)}


def python_memcached(address, **options):
    import memcache
    client = memcache.Client([("unix:" if address.startswith("/") else "") + address], **options)
    return client.get, client.set, client.get_multi


def pylibmc(address):
    import pylibmc
    client = pylibmc.Client([address], binary=False, behaviors={"tcp_nodelay": True})
    return client.get, client.set, client.get_multi


def pymemcache(address):
    from pymemcache import serde
    from pymemcache.client.base import Client
    target = address
    if not address.startswith("/"):
        host, port = address.rsplit(":", 1)
        target = (host, int(port))
    client = Client(target, serde=serde.pickle_serde, no_delay=not address.startswith("/"))
    return client.get, client.set, client.get_many


def dogpile(address):
    from dogpile.cache import make_region
    region = make_region().configure(
        "dogpile.cache.pylibmc", expiration_time=3600,
        arguments={"url": [address], "binary": False, "behaviors": {"tcp_nodelay": True}})
    return region.get, region.set, lambda keys: dict(zip(keys, region.get_multi(keys)))


CLIENTS = {
    "python-memcached": python_memcached,
    "python-memcached pickle 4": lambda a: python_memcached(a, pickleProtocol=4),
    "pylibmc": pylibmc,
    "pymemcache": pymemcache,
    "dogpile.cache": dogpile,
}
TESTS = {"test1": (CALLS1, KEYS1, make_list), "test2": (PAGES2, KEYS2, make_user)}


class Load:
    def __init__(self, address, client, test):
        self.get, put, self.get_multi = CLIENTS[client](address)
        self.pages, count, make = TESTS[test]
        self.keys = ["%s:%s:%d" % (client.replace(" ", "-"), test, i) for i in range(count)]
        for number, key in enumerate(self.keys):
            put(key, make(number + 1))
        if self.get(self.keys[-1]) != make(count) or len(self.get_multi(self.keys)) != count:
            raise RuntimeError("another value than was stored came back")

    def run(self, mode):
        start = time.perf_counter()
        for _ in range(self.pages):
            if mode == "multi":
                self.get_multi(self.keys)
            else:
                for key in self.keys:
                    self.get(key)
        return (time.perf_counter() - start) * 1000


def versions():
    import dogpile
    import memcache
    import pylibmc as pylibmc_module
    import pymemcache as pymemcache_module
    return {"Python": platform.python_version(), "python-memcached": memcache.__version__,
            "pylibmc": pylibmc_module.__version__, "pymemcache": pymemcache_module.__version__,
            "dogpile.cache": getattr(dogpile.cache if hasattr(dogpile, "cache") else dogpile,
                                     "__version__", "?")}


def main():
    address = sys.argv[1]
    print(json.dumps(versions()), flush=True)
    loads = {}
    for line in sys.stdin:
        client, test, mode = line.rstrip("\n").split("|")
        try:
            if (client, test) not in loads:
                loads[client, test] = Load(address, client, test)
            gc.collect()
            print("%.4f" % loads[client, test].run(mode), flush=True)
        except Exception as error:  # the others go on
            print("error %s: %s" % (type(error).__name__, error), flush=True)


if __name__ == "__main__":
    main()
