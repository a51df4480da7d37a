// What the cases of the conformance kit share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/cache.h"
#include "larder/testing/conformance.h"

namespace larder {

inline std::ostream& operator<<(std::ostream& out, Status status) {
  constexpr const char* kNames[] = {"hit", "miss", "error"};
  return out << kNames[static_cast<std::size_t>(status)];
}
inline std::ostream& operator<<(std::ostream& out, Reason reason) {
  return out << reasonName(reason);
}

}  // namespace larder

namespace larder::testing {

/// What the kit was started for. Set by main() before GoogleTest looks for cases.
const Subject*& currentSubject() noexcept;

/// The subject's variants if `applies`, else none: then no case of the suite exists.
std::vector<std::string> variantsIf(bool applies);
/// Those whose clock a case moves.
std::vector<std::string> manualVariants();
/// Those that name at least so many memcacheds of the run.
std::vector<std::string> variantsWithServers(std::size_t count);
/// The same of those variants that differ below the envelope.
std::vector<std::string> storeVariantsIf(bool applies);
std::string variantName(const ::testing::TestParamInfo<std::string>& info);

/// A suite that may have no variants for a plugin: main() tells what is not promised.
#define LARDER_OPTIONAL_SUITE(Suite, variants)          \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite); \
  INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::ValuesIn(variants), variantName)

/// Borrows the text.
[[nodiscard]] CacheKey keyOf(std::string_view bytes);

/// An entry with every field set, fresh for a minute from now, stale for another, for errors for a
/// third. Its inputs have to be in the key.
[[nodiscard]] std::unique_ptr<CacheEntry> makeEntry(const CacheKey& key, Value value,
                                                    const Clock& clock,
                                                    std::span<const std::string> inputs = {});
[[nodiscard]] Value textValue(std::string_view text);
/// Page of `size` bytes that no compression makes much smaller; different for each seed.
[[nodiscard]] Page noisePage(std::size_t size, std::uint64_t seed);

/// Equal in every field. Times may differ by what two clocks read apart if the entry left the
/// process.
::testing::AssertionResult sameEntry(const CacheEntry& expected, const CacheEntry& actual);
/// Runs `work` with 0 to count - 1 at the same time, waits for all.
void runOnThreads(int count, const std::function<void(int)>& work);

::testing::AssertionResult isHit(const Lookup& lookup);
::testing::AssertionResult isMiss(const Lookup& lookup);
::testing::AssertionResult isStored(const Stored& stored);

/// Cases of larder/cache.h's Cache: an object cache as it is, a byte cache in its envelope.
class CacheCase : public ::testing::TestWithParam<std::string> {
 protected:
  Lookup get(Cache& from, std::string_view key) { return from.get(keyOf(key), world.soon()); }
  Lookup get(std::string_view key) { return get(*cache, key); }
  /// Puts an entry and returns it for comparison.
  EntryPtr put(Cache& to, std::string_view key, Value value) {
    EntryPtr entry(makeEntry(keyOf(key), std::move(value), world.clock()));
    EXPECT_TRUE(isStored(to.put(keyOf(key), entry, world.soon()))) << "of key " << key;
    return entry;
  }
  EntryPtr put(std::string_view key, Value value) { return put(*cache, key, std::move(value)); }
  EntryPtr put(std::string_view key) { return put(key, textValue(key)); }

  World world{*currentSubject(), GetParam()};
  std::shared_ptr<Cache> cache{world.cache()};
};

}  // namespace larder::testing
