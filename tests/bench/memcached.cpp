// What the memcached manager costs over libmemcached's bare memcached_get, with the two classic
// loads, in one run:
//
//   test 1   4,004 gets of a list of 25 dictionaries (4.6 KB), four keys
//   test 2   620 gets of nested user objects (about 10 KB), 62 keys to a page
//
//   bench_memcached [--rounds 15] [--json FILE] [--no-pin] [--smoke]
//   bench_memcached --runner
//
// All rows of a round follow one another, so that a disturbance meets them alike; printed are the
// medians in milliseconds, of real time and of the processor time of client and server together,
// each with its ratio to memcached_get on the same transport. On a busy machine only the second one
// says something. Client and servers share one processor, so that waking another one does not hide
// the difference. The servers' own cmd_get must rise by exactly the number of gets. Ends with 1 if
// it does not.
//
// With --runner it prints its rows, a line "TRANSPORT|ROW|LOAD" each, then an empty one, and runs
// the row whose number it reads from its input, line by line; to each it answers "REAL-MS CPU-MS
// GETS". So another program can interleave these rows with its own (scripts/bench seed1).
#include <libmemcached/memcached.h>
#include <malloc.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "larder/cache/codec.h"
#include "larder/cache/envelope.h"
#include "larder/cache/key_builder.h"
#include "larder/cache/settings_reader.h"
#include "larder/cache/system_clock.h"
#include "larder/cache/thread_pool.h"
#include "larder/testing/memcached_server.h"
#include "larder/testing/test_host.h"
#include "memcached_manager.h"
#include "settings.h"

namespace {

using namespace larder;
using larder::testing::MemcachedServer;
using memcached::MemcachedManager;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "bench_memcached: %s\n", what.c_str());
  std::exit(1);
}
void check(bool good, const char* what) {
  if (!good) die(what);
}

double nowMs() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

/// The same values on every machine.
class Words {
 public:
  explicit Words(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % bound;
  }
  std::string text(int words) {
    static constexpr const char* kWords[] = {"cache",  "plugin", "server", "object",   "value",
                                             "portal", "member", "folder", "document", "event",
                                             "news",   "link",   "image",  "workflow", "state"};
    std::string out;
    for (int i = 0; i < words; ++i) {
      if (i > 0) out += ' ';
      out += kWords[below(std::size(kWords))];
    }
    return out;
  }

 private:
  std::uint64_t state_;
};

Tree dictionaries() {
  Words words(1);
  Tree list = Tree::list();
  for (int i = 0; i < 25; ++i) {
    list.add(Tree::map()
                 .set("Title", words.text(4))
                 .set("Description", words.text(13))
                 .set("url", "http://localhost:8080/portal/folder-" + std::to_string(i % 5) +
                                 "/document-" + std::to_string(i)));
  }
  return list;
}

Tree user(int number) {
  Words words(1000 + static_cast<std::uint64_t>(number));
  Tree groups = Tree::list();
  for (int g = 0; g < 15; ++g) {
    groups.add(Tree::map()
                   .set("id", "group-" + std::to_string(words.below(500)))
                   .set("title", words.text(3))
                   .set("roles", Tree::list({words.text(1), words.text(1), words.text(1)}))
                   .set("order", g));
  }
  Tree sheets = Tree::map();
  for (int s = 0; s < 12; ++s) {
    Tree sheet = Tree::map();
    for (int f = 0; f < 14; ++f) {
      const std::string name = "field" + std::to_string(f);
      f % 3 ? sheet.set(name, words.text(4))
            : sheet.set(name, static_cast<std::int64_t>(words.below(1'000'000)));
    }
    sheets.set("sheet" + std::to_string(s), std::move(sheet));
  }
  Tree local_roles = Tree::map();
  for (int k = 0; k < 30; ++k) {
    local_roles.set("/portal/" + words.text(1) + "/" + std::to_string(k),
                    k % 2 ? Tree::list({"Owner", "Editor"}) : Tree::list({"Reader"}));
  }
  Tree history = Tree::list();
  for (int h = 0; h < 60; ++h) {
    history.add(Tree::list({static_cast<std::int64_t>(1230768000 + words.below(10'000'000)),
                            words.text(1), words.below(2) == 1}));
  }
  const std::string id = "user" + std::to_string(number);
  return Tree::map()
      .set("id", id)
      .set("login", id + "@example.org")
      .set("active", true)
      .set("portrait", nullptr)
      .set("score", static_cast<double>(words.below(10'000)) / 64)
      .set("groups", std::move(groups))
      .set("sheets", std::move(sheets))
      .set("local_roles", std::move(local_roles))
      .set("history", std::move(history))
      .set("description", words.text(160));
}

struct Load {
  const char* name;
  int pages;
  std::vector<Document> values;
  std::vector<std::unique_ptr<KeyBuilder>> builders = {};
  std::vector<CacheKey> keys = {};
  [[nodiscard]] std::size_t gets() const { return static_cast<std::size_t>(pages) * values.size(); }

  void makeKeys() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto builder = std::make_unique<KeyBuilder>();
      builder->begin("site", "/portal/" + std::to_string(i), name, 1);
      builder->input("param:mode", 1);
      builder->text("full");
      keys.push_back(builder->key());
      builders.push_back(std::move(builder));
    }
  }
};

/// The peer: libmemcached as performance-minded programs set it up, no decoding.
class Bare {
 public:
  explicit Bare(const std::string& address) : handle_(memcached_create(nullptr)) {
    memcached_behavior_set(handle_, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
    memcached_behavior_set(handle_, MEMCACHED_BEHAVIOR_SOCKET_RECV_SIZE, 1 << 20);
    const auto colon = address.find(':');
    const auto added =
        address[0] == '/'
            ? memcached_server_add_unix_socket(handle_, address.c_str())
            : memcached_server_add(handle_, address.substr(0, colon).c_str(),
                                   static_cast<in_port_t>(std::stoi(address.substr(colon + 1))));
    check(memcached_success(added), "libmemcached refuses the server");
    memcached_result_create(handle_, &result_);
  }
  ~Bare() {
    memcached_result_free(&result_);
    memcached_free(handle_);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void set(const std::string& key, std::string_view value) {
    check(memcached_success(
              memcached_set(handle_, key.data(), key.size(), value.data(), value.size(), 0, 0)),
          "memcached_set failed");
  }
  std::size_t get(const std::string& key) {
    std::size_t size = 0;
    std::uint32_t flags = 0;
    memcached_return_t rc;
    char* value = memcached_get(handle_, key.data(), key.size(), &size, &flags, &rc);
    check(value != nullptr, "memcached_get found nothing");
    std::free(value);
    return size;
  }
  std::size_t getMany(std::span<const char* const> keys, std::span<const std::size_t> sizes) {
    check(memcached_success(memcached_mget(handle_, keys.data(), sizes.data(), keys.size())),
          "memcached_mget failed");
    std::size_t sum = 0;
    memcached_return_t rc;
    while (memcached_fetch_result(handle_, &result_, &rc)) sum += memcached_result_length(&result_);
    return sum;
  }

 private:
  memcached_st* handle_;
  memcached_result_st result_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double cpuMs(clockid_t clock) {
  timespec used{};
  check(::clock_gettime(clock, &used) == 0, "clock_gettime failed");
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

struct Row {
  std::string transport;
  std::string name;
  std::size_t load;
  std::function<void()> run;
  std::vector<double> real = {};
  std::vector<double> cpu = {};
};

volatile std::size_t sink;

/// A transport's server, peers and rows.
class Side {
 public:
  Side(std::string name, MemcachedServer server, Host& host, const Clock& clock,
       std::vector<Load>& loads)
      : name_(std::move(name)),
        server_(std::move(server)),
        loads_(loads),
        bare_(server_.address()) {
    auto settings = readSettings(memcached::kSettings,
                                 {{"servers", {std::vector{server_.address()}, "bench"}},
                                  {"timeout", {std::string("5s"), "bench"}},
                                  {"connect_timeout", {std::string("5s"), "bench"}}},
                                 "bench");
    check(static_cast<bool>(settings), "settings");
    manager_ = std::make_shared<MemcachedManager>(host, *settings);
    cache_ =
        std::make_unique<EnvelopeCache>(manager_, clock, EnvelopeOptions{.name_space = "bench"});
    fill(clock);
  }

  void addRows(std::vector<Row>& rows) {
    for (std::size_t l = 0; l < loads_.size(); ++l) {
      const Load& load = loads_[l];
      const auto& names = names_[l];
      const auto add = [&](const char* name, std::function<void()> run) {
        rows.push_back({name_, name, l, std::move(run)});
      };
      add("memcached_get", [this, &load, &names] {
        each(load, [&](std::size_t i) { sink = sink + bare_.get(names.texts[i]); });
      });
      add("manager, bytes", [this, &load, &names] {
        each(load, [&](std::size_t i) {
          const ByteLookup found = manager_->get(names.texts[i], kForever);
          check(found.status == Status::hit, "a get of the manager found nothing");
          sink = sink + found.value.data.size();
        });
      });
      add("manager, decoded views", [this, &load] {
        each(load, [&](std::size_t i) { use(cache_->get(load.keys[i], kForever)); });
      });
      add("memcached_mget", [this, &load, &names] {
        for (int page = 0; page < load.pages; ++page) {
          sink = sink + bare_.getMany(names.pointers, names.sizes);
        }
      });
      add("manager, bytes, one multi-get a page", [this, &load, &names] {
        std::vector<ByteLookup> found(names.views.size());
        for (int page = 0; page < load.pages; ++page) {
          manager_->getMany(names.views, found, kForever);
          for (const auto& one : found) {
            check(one.status == Status::hit, "a multi-get of the manager found nothing");
            sink = sink + one.value.data.size();
          }
        }
      });
      add("manager, decoded views, one multi-get a page", [this, &load] {
        std::vector<Lookup> found(load.keys.size());
        for (int page = 0; page < load.pages; ++page) {
          cache_->getMany(load.keys, found, kForever);
          for (const auto& one : found) use(one);
        }
      });
    }
  }
  [[nodiscard]] std::uint64_t gets() { return server_.stat("cmd_get"); }
  [[nodiscard]] pid_t pid() const { return server_.pid(); }
  /// Of this process and the server.
  [[nodiscard]] double cpu() const {
    clockid_t clock;
    check(::clock_getcpuclockid(pid(), &clock) == 0, "clock_getcpuclockid failed");
    return cpuMs(CLOCK_PROCESS_CPUTIME_ID) + cpuMs(clock);
  }

 private:
  struct Names {
    std::vector<std::string> texts;
    std::vector<std::string_view> views;
    std::vector<const char*> pointers;
    std::vector<std::size_t> sizes;
  };

  template <class F>
  static void each(const Load& load, F f) {
    for (int page = 0; page < load.pages; ++page) {
      for (std::size_t i = 0; i < load.values.size(); ++i) f(i);
    }
  }
  static void use(const Lookup& found) {
    check(found.status == Status::hit, "a decoded get found nothing");
    sink = sink + found.entry->value.document().root().size();
  }
  /// Stores each value as an entry, and its envelope again under a key that the peer can name.
  void fill(const Clock& clock) {
    for (const Load& load : loads_) {
      Names names;
      for (std::size_t i = 0; i < load.keys.size(); ++i) {
        static const std::string kScope = "obj:/portal";
        static const std::string kInput = "param:mode";
        auto entry =
            CacheEntry::make(load.keys[i], {.scopes = {&kScope, 1}, .inputs = {&kInput, 1}});
        entry->value = load.values[i];
        entry->created_wall = clock.wall();
        entry->lifetime.created = clock.monotonic();
        entry->lifetime.fresh_until = entry->lifetime.stale_until = entry->lifetime.error_until =
            clock.monotonic() + 3'600'000;
        check(cache_->put(load.keys[i], EntryPtr(std::move(entry)), kForever).ok, "put failed");
        std::string body;
        check(static_cast<bool>(encodeDocument(load.values[i].root(), body)), "encode failed");
        body.append(180, ' ');  // what an envelope has beside the value
        names.texts.push_back("larder:" + std::string(load.name, 5) + "-0123456789-" +
                              std::to_string(1000 + i));
        bare_.set(names.texts.back(), body);
      }
      names.views.assign(names.texts.begin(), names.texts.end());
      for (const auto& text : names.texts) {
        names.pointers.push_back(text.data());
        names.sizes.push_back(text.size());
      }
      names_.push_back(std::move(names));
    }
  }

  std::string name_;
  MemcachedServer server_;
  std::vector<Load>& loads_;
  std::vector<Names> names_;
  Bare bare_;
  std::shared_ptr<MemcachedManager> manager_;
  std::unique_ptr<EnvelopeCache> cache_;
};

void pin(pid_t pid) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  check(::sched_setaffinity(pid, sizeof(one), &one) == 0, "sched_setaffinity failed");
}
/// All threads of a process.
void pinAll(pid_t pid) {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    pin(static_cast<pid_t>(std::stoi(task.path().filename())));
  }
}

Side& sideOf(const std::vector<std::unique_ptr<Side>>& sides, const Row& row) {
  return *sides[row.transport == "tcp" ? 0 : 1];
}

void measure(Row& row, const Side& side) {
  const double cpu = side.cpu();
  const double start = nowMs();
  row.run();
  row.real.push_back(nowMs() - start);
  row.cpu.push_back(side.cpu() - cpu);
}

int runOnDemand(std::vector<Row>& rows, const std::vector<std::unique_ptr<Side>>& sides,
                const std::vector<Load>& loads) {
  for (const Row& row : rows)
    std::printf("%s|%s|%s\n", row.transport.c_str(), row.name.c_str(), loads[row.load].name);
  std::printf("\n");
  std::fflush(stdout);
  std::size_t number = 0;
  while (std::scanf("%zu", &number) == 1 && number < rows.size()) {
    Row& row = rows[number];
    Side& side = sideOf(sides, row);
    const auto before = side.gets();
    measure(row, side);
    std::printf("%.4f %.4f %llu\n", row.real.back(), row.cpu.back(),
                static_cast<unsigned long long>(side.gets() - before));
    std::fflush(stdout);
  }
  return 0;
}

double decodeMicros(const Load& load, int times) {
  std::vector<Buffer> bytes;
  for (const auto& value : load.values) {
    auto text = std::make_shared<std::string>();
    check(static_cast<bool>(encodeDocument(value.root(), *text)), "encode failed");
    const std::string_view view = *text;
    bytes.push_back({std::move(text), view});
  }
  std::vector<double> rounds;
  for (int round = 0; round < 9; ++round) {
    const double start = cpuMs(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < times; ++i) {
      const auto document = decodeDocument(bytes[static_cast<std::size_t>(i) % bytes.size()]);
      sink = sink + document->root().size();
    }
    rounds.push_back((cpuMs(CLOCK_THREAD_CPUTIME_ID) - start) * 1000 / times);
  }
  return median(std::move(rounds));
}

}  // namespace

int main(int argc, char** argv) {
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);  // as `larder serve` does
  int rounds = 15;
  bool pinned = true;
  bool smoke = false;
  bool runner = false;
  std::string json;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--smoke") {
      smoke = true;
    } else if (option == "--runner") {
      runner = true;
    } else if (option == "--no-pin") {
      pinned = false;
    } else if (option == "--rounds" && i + 1 < argc) {
      rounds = std::max(std::atoi(argv[++i]), 1);
    } else if (option == "--json" && i + 1 < argc) {
      json = argv[++i];
    } else {
      die("unknown option '" + std::string(option) + "'; see the head of the source");
    }
  }
  if (smoke) rounds = 1;

  std::vector<Load> loads;
  loads.push_back({"test1", smoke ? 10 : 1001, {}});
  for (int i = 0; i < 4; ++i) loads[0].values.push_back(Document::from(dictionaries()));
  loads.push_back({"test2", smoke ? 1 : 10, {}});
  for (int i = 0; i < 62; ++i) loads[1].values.push_back(Document::from(user(i)));
  for (auto& load : loads) load.makeKeys();

  const SystemClock clock;
  ThreadPool pool(clock, {.threads = 1, .name = "bench"});
  larder::testing::TestHost host(clock, pool);
  if (pinned) pin(0);
  std::vector<std::unique_ptr<Side>> sides;
  for (const auto listens : {MemcachedServer::Listens::tcp, MemcachedServer::Listens::unixSocket}) {
    auto server = MemcachedServer::start({.listens = listens, .megabytes = 128});
    if (!server) die(server.error().message);
    sides.push_back(
        std::make_unique<Side>(listens == MemcachedServer::Listens::tcp ? "tcp" : "unix",
                               std::move(*server), host, clock, loads));
    if (pinned) pinAll(sides.back()->pid());
  }
  std::vector<Row> rows;
  for (const auto& side : sides) side->addRows(rows);

  if (runner) return runOnDemand(rows, sides, loads);
  bool exact = true;
  for (auto& row : rows) {
    Side& side = sideOf(sides, row);
    const auto before = side.gets();
    row.run();  // warms up, too
    const auto asked = side.gets() - before;
    if (asked != loads[row.load].gets()) {
      std::printf("%s %s: the server counted %llu gets instead of %zu\n", row.transport.c_str(),
                  row.name.c_str(), static_cast<unsigned long long>(asked), loads[row.load].gets());
      exact = false;
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (auto& row : rows) measure(row, sideOf(sides, row));
  }

  std::string out = "{\"rows\":[";
  for (std::size_t l = 0; l < loads.size(); ++l) {
    std::printf("\n%s: %zu gets, decoding one value takes %.2f us\n", loads[l].name,
                loads[l].gets(), decodeMicros(loads[l], smoke ? 10 : 2000));
    std::printf("  %-52s %19s %19s\n", "", "real ms, ratio", "cpu ms, ratio");
    double bare_real = 1;
    double bare_cpu = 1;
    for (const auto& row : rows) {
      if (row.load != l) continue;
      const double real = median(row.real);
      const double cpu = median(row.cpu);
      if (row.name == "memcached_get") {
        bare_real = real;
        bare_cpu = cpu;
      }
      std::printf("  %-4s  %-46s %11.3f %7.3f %11.3f %7.3f\n", row.transport.c_str(),
                  row.name.c_str(), real, real / bare_real, cpu, cpu / bare_cpu);
      char line[300];
      std::snprintf(line, sizeof(line),
                    "%s\n{\"load\":\"%s\",\"transport\":\"%s\",\"row\":\"%s\",\"real_ms\":%.4f,"
                    "\"real_ratio\":%.4f,\"cpu_ms\":%.4f,\"cpu_ratio\":%.4f}",
                    out.back() == '[' ? "" : ",", loads[l].name, row.transport.c_str(),
                    row.name.c_str(), real, real / bare_real, cpu, cpu / bare_cpu);
      out += line;
    }
  }
  if (!json.empty()) std::ofstream(json) << out << "]}\n";
  return exact ? 0 : 1;
}
