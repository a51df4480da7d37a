// What instructions.sh counts the instructions of: after the same preparation in every run,
//
//   bench_instructions HITS PAGES PUTS
//
// look-ups in RAMCache, cached pages of the engine (key, look-up, validity, statistics), entries
// stored in RAMCache in place of others. Ends with 1 if one of them was no hit.
#include <cstdlib>
#include <string_view>

#include "../unit/cache/engine_fixture.h"
#include "ram_peers.h"

namespace larder::bench {
namespace {

using testing::TestCall;
using testing::TestView;

constexpr std::size_t kKeys = 1'000;
constexpr std::size_t kPages = 100;

/// A site with one view of one input, whose pages are cached by RAMCache.
class PageSite {
 public:
  explicit PageSite(World& world)
      : manager_({"/", "fast", "RAMCache", true}, policy_, world.cache(64 << 20), Waits::never),
        engine_(ledger_, snapshots_, world.clock, world.pool, [](std::string_view) {}, {}) {
    for (std::size_t i = 0; i < kPages; ++i) {
      testing::MapInputs inputs;
      inputs.values["param:page"] = std::to_string(i);
      calls_.push_back(std::make_unique<TestCall>(view_, "/handbook/chapter", std::move(inputs),
                                                  policy_, &manager_));
      CallContext context(snapshots_, kForever);
      (void)engine_.call(*calls_.back(), context, nullptr);
    }
  }
  std::size_t getAll(std::size_t count) {
    std::size_t hits = 0;
    for (std::size_t i = 0; i < count; ++i)
      hits += engine_.tryHit(*calls_[i % kPages], kForever).has_value();
    return hits;
  }

 private:
  MemoryLedger ledger_;
  testing::LedgerSnapshots snapshots_{ledger_};
  Policy policy_;
  CacheManager manager_;
  larder::Engine engine_;
  TestView view_{"page",
                 [](CallContext&, Recorder& recorder, const testing::MapInputs&) {
                   recorder.input("param:page");
                   for (const auto* path : {"/", "/handbook", "/handbook/chapter"})
                     recorder.object(path);
                   return testing::text(std::string(kBodyBytes, 'x'));
                 },
                 {"param:page"}};
  std::vector<std::unique_ptr<TestCall>> calls_;
};

/// Ends the process at once: what destructors cost depends on where in the heap things happen to
/// lie.
[[noreturn]] void run(std::size_t hits, std::size_t pages, std::size_t puts) {
  World world;
  RamEngine ram(world, 64 << 20);
  const Keys keys(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) ram.put(keys[i]);
  PageSite site(world);

  std::size_t found = 0;
  for (std::size_t i = 0; i < hits; ++i) {
    const auto key = static_cast<std::uint32_t>(i % kKeys);
    found += ram.getAll(keys, {&key, 1});
  }
  found += site.getAll(pages);
  for (std::size_t i = 0; i < puts; ++i) ram.put(keys[i % kKeys]);
  std::_Exit(found == hits + pages ? 0 : 1);
}

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  const auto count = [&](int i) -> std::size_t {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : 0;
  };
  larder::bench::run(count(1), count(2), count(3));
}
