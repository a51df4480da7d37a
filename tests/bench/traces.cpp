// Hit ratios of the real RAMCache beside simulated policies, on request traces; and a flood of keys
// that nobody asks for twice.
//
//   bench_traces [--smoke] [--flood] [FILE.zst ...]
//
// A trace is a text file compressed with zstd, one request a line: `key`, or `key size`. The cache
// holds 1 % and 10 % of its distinct keys, and, where sizes are given, of their bytes. Without a
// file, the traces are synthetic. Ends with 1 when a result is absurd, or, at full length, when a
// goal is missed.
#include <unistd.h>
#include <zstd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <unordered_map>

#include "ram_load.h"
#include "traces_policies.h"

namespace larder::bench {
namespace {

struct Trace {
  std::string name;
  std::vector<Request> requests;
  std::vector<std::string> keys;
  std::uint64_t bytes = 0;
  bool has_sizes = false;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(std::string name) { trace_.name = std::move(name); }
  void add(std::string_view key, std::uint32_t size) {
    const auto [it, is_new] =
        numbers_.try_emplace(std::string(key), static_cast<std::uint32_t>(trace_.keys.size()));
    if (is_new) {
      trace_.keys.emplace_back(key);
      trace_.bytes += size;
    }
    trace_.has_sizes |= size != 1;
    trace_.requests.push_back({it->second, size, kNever});
  }
  Trace build() {
    std::vector<std::uint32_t> next(trace_.keys.size(), kNever);
    for (std::size_t i = trace_.requests.size(); i-- > 0;) {
      auto& r = trace_.requests[i];
      r.next = std::exchange(next[r.key], static_cast<std::uint32_t>(i));
    }
    return std::move(trace_);
  }

 private:
  Trace trace_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

std::string decompressed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::string packed{std::istreambuf_iterator<char>(file), {}};
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  std::string text;
  std::vector<char> part(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer out{part.data(), part.size(), 0};
    if (ZSTD_isError(ZSTD_decompressStream(context.get(), &out, &in)))
      throw std::runtime_error(path + " is not compressed with zstd");
    text.append(part.data(), out.pos);
  }
  return text;
}

Trace readTrace(const std::string& path, std::size_t limit) {
  const auto text = decompressed(path);
  const auto slash = path.rfind('/');
  TraceBuilder builder(path.substr(slash == std::string::npos ? 0 : slash + 1));
  std::string_view rest = text;
  for (std::size_t n = 0; !rest.empty() && n < limit; ++n) {
    auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto blank = line.find(' ');
    std::uint32_t size = 1;
    if (blank != std::string_view::npos)
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), size);
    builder.add(line.substr(0, blank), std::max(size, 1U));
  }
  return builder.build();
}

/// Popular keys with a scan of fresh ones between, as a crawler makes.
Trace syntheticTrace(const char* name, std::size_t requests, std::size_t keys, bool scans) {
  TraceBuilder builder(name);
  const auto popular = zipf(keys, requests, 3);
  std::size_t scanned = 0;
  for (std::size_t i = 0; i < popular.size(); ++i) {
    builder.add(std::to_string(popular[i]), 1);
    if (scans && i % 20'000 < 5'000) builder.add("scan" + std::to_string(scanned++), 1);
  }
  return builder.build();
}

double hitRatio(const Trace& trace, const std::function<bool(const Request&)>& access) {
  std::size_t hits = 0;
  for (const auto& r : trace.requests) hits += access(r);
  return 100.0 * static_cast<double>(hits) / static_cast<double>(trace.requests.size());
}

double ramHitRatio(const Trace& trace, RAMCache& cache) {
  const std::size_t overhead = CacheEntry::make({"12345678", {}, 0})->weight();
  return hitRatio(trace, [&](const Request& r) {
    const auto& text = trace.keys[r.key];
    const CacheKey key{text, digestOf(text), 0};
    if (cache.get(key, kForever).status == Status::hit) return true;
    auto entry = CacheEntry::make(key);
    // The size is claimed, not allocated.
    entry->value = Document(nullptr, Node(), r.size > overhead ? r.size - overhead : 0);
    entry->lifetime = {0, kForever, kForever, kForever};
    cache.put(key, EntryPtr(std::move(entry)), kForever);
    return false;
  });
}

struct Row {
  double lru = 0;
  double best = 0;
  double ram = 0;
};

Row compare(World& world, const Trace& trace, double share, bool by_bytes) {
  const auto total =
      by_bytes ? static_cast<double>(trace.bytes) : static_cast<double>(trace.keys.size());
  const auto capacity = static_cast<std::uint64_t>(std::max(2.0, total * share + 0.5));
  const auto keys = trace.keys.size();
  const auto entries = static_cast<std::size_t>(static_cast<double>(keys) * share);
  Trace unit;
  const Trace* used = &trace;
  if (!by_bytes && trace.has_sizes) {
    unit = trace;
    for (auto& r : unit.requests) r.size = 1;
    used = &unit;
  }
  const auto simulate = [&](Simulator& s) {
    return hitRatio(*used, [&](const Request& r) { return s.access(r); });
  };
  BeladySim belady(keys, capacity);
  FifoSim lru(keys, capacity, true);
  FifoSim fifo(keys, capacity, false);
  SieveSim sieve(keys, capacity);
  S3FifoSim s3(keys, capacity, 2);
  ArcSim arc(keys, capacity);
  TinyLfuSim narrow(keys, capacity, 0.01, entries);
  TinyLfuSim wide(keys, capacity, 0.2, entries);
  const auto cache = by_bytes
                         ? world.cache(capacity)
                         : world.cache(std::size_t{1} << 40, static_cast<std::int64_t>(capacity),
                                       std::int64_t{1} << 30);
  const double h_belady = simulate(belady);
  const double h_fifo = simulate(fifo);
  const double h_sieve = simulate(sieve);
  const double h_s3 = simulate(s3);
  const double h_arc = simulate(arc);
  const double h_tiny = std::max(simulate(narrow), simulate(wide));
  Row row;
  row.lru = simulate(lru);
  row.ram = ramHitRatio(*used, *cache);
  row.best = std::max({row.lru, h_fifo, h_sieve, h_s3, h_tiny, h_arc});
  std::printf("%-24s %4.1f %% %-8s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f | %8.2f\n",
              trace.name.c_str(), share * 100, by_bytes ? "bytes" : "entries", h_belady, row.lru,
              h_fifo, h_sieve, h_s3, h_tiny, h_arc, row.ram);
  return row;
}

bool goal(const char* what, double value, double bound, bool at_most) {
  const bool met = at_most ? value <= bound : value >= bound;
  std::printf("  %-60s %8.2f  goal %s %.4g  %s\n", what, value, at_most ? "<=" : ">=", bound,
              met ? "PASS" : "MISS");
  return met;
}

/// `strict`: a missed goal counts.
bool compareAll(World& world, const std::vector<Trace>& traces, bool strict) {
  std::printf("hit ratio, %%\n%-24s %6s %-8s %8s %8s %8s %8s %8s %8s %8s | %8s\n", "trace", "size",
              "of", "Belady", "LRU", "FIFO", "SIEVE", "S3-FIFO", "TinyLFU", "ARC", "RAMCache");
  double worst_to_best = 0;
  double worst_to_lru = 0;
  double gain = 0;
  double by_bytes = 100;
  std::size_t rows = 0;
  bool absurd = false;
  for (const auto& trace : traces) {
    for (const double share : {0.001, 0.01, 0.1}) {
      const auto row = compare(world, trace, share, false);
      absurd |= row.ram <= 0;
      if (share < 0.01) continue;
      worst_to_best = std::max(worst_to_best, row.best - row.ram);
      worst_to_lru = std::max(worst_to_lru, row.lru - row.ram);
      gain += row.ram - row.lru;
      ++rows;
    }
    if (!trace.has_sizes) continue;
    for (const double share : {0.01, 0.1}) {
      const auto row = compare(world, trace, share, true);
      absurd |= row.ram <= 0;
      if (share == 0.01 && trace.name.find("semicomplete") != std::string::npos) by_bytes = row.ram;
    }
  }
  std::printf("hit ratio at 1 %% and 10 %% of the entries, points\n");
  bool met = goal("below the best policy, at most", worst_to_best, 1.0, true);
  met &= goal("below LRU, at most", worst_to_lru, 0.5, true);
  met &= goal("above LRU, on average", gain / static_cast<double>(rows), 3, false);
  if (by_bytes < 100) met &= goal("semicomplete at 1 % of its bytes, %", by_bytes, 72, false);
  return !absurd && (met || !strict);
}

std::size_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  std::size_t resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// 100 hot entries, each read once in 5,000 inserts, in a cache that holds some 40,000.
bool flood(World& world, std::size_t inserts) {
  constexpr std::size_t kLimit = std::size_t{64} << 20U;
  const auto baseline = residentBytes();
  const auto cache = world.cache(kLimit);
  const auto put = [&](const std::string& text) {
    const CacheKey key{text, digestOf(text), 0};
    cache->put(key, EntryPtr(pageEntry(key, 1024)), kForever);
  };
  std::size_t reads = 0;
  std::size_t hits = 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < inserts; ++i) {
    put("/flood/" + std::to_string(i));
    if (i % 50 == 0) {
      const auto hot = "/hot/" + std::to_string(i / 50 % 100);
      ++reads;
      if (cache->get({hot, digestOf(hot), 0}, kForever).status == Status::hit) {
        ++hits;
      } else {
        put(hot);
      }
    }
    if (i % 10'000 == 0) most = std::max(most, residentBytes() - baseline);
  }
  const double ratio = 100.0 * static_cast<double>(hits) / static_cast<double>(reads);
  std::printf("flood of %zu keys, limit 64 MiB\n", inserts);
  const bool kept = goal("hot entries hit, %", ratio, 90, false);
  return goal("resident beyond the baseline, MiB", static_cast<double>(most) / 1048576.0, 64 * 1.2,
              true) &&
         kept;
}

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  bool smoke = false;
  bool flood_only = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--smoke") == 0) {
      smoke = true;
    } else if (std::strcmp(argv[i], "--flood") == 0) {
      flood_only = true;
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  World world;
  bool sane = flood(world, smoke ? 50'000 : 5'000'000) || smoke;
  if (flood_only) return sane ? 0 : 1;
  std::vector<Trace> traces;
  try {
    for (const auto& file : files)
      traces.push_back(readTrace(file, smoke ? 20'000 : ~std::size_t{0}));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
  if (files.empty()) {
    const std::size_t requests = smoke ? 50'000 : 1'000'000;
    traces.push_back(syntheticTrace("zipf", requests, requests / 10, false));
    traces.push_back(syntheticTrace("zipf with scans", requests, requests / 10, true));
  }
  sane &= compareAll(world, traces, !smoke && !files.empty());
  return sane ? 0 : 1;
}
