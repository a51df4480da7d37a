#include "cases.h"

#include <thread>

#include "larder/key.h"

namespace larder::testing {
namespace {

/// An entry that left the process carries its times as ages; they come back through two clocks.
constexpr Millis kClockTolerance = 200;

bool sameTime(Millis expected, Millis actual) {
  if (expected == kForever || actual == kForever) return expected == actual;
  const Millis tolerance = currentSubject()->leavesProcess() ? kClockTolerance : 0;
  return actual >= expected - tolerance && actual <= expected + tolerance;
}

std::string describe(const Value& value) {
  if (const auto page = value.page())
    return "a page of status " + std::to_string(page->status) + " with " +
           std::to_string(page->headers.size()) + " headers and " +
           std::to_string(page->body.size()) + " bytes";
  constexpr const char* kTypes[] = {"null", "boolean", "integer", "real",
                                    "text", "bytes",   "list",    "map"};
  return std::string("a document of type ") +
         kTypes[static_cast<std::size_t>(value.document().root().type())];
}

bool sameValue(const Value& expected, const Value& actual) {
  const auto a = expected.page();
  const auto b = actual.page();
  if (!a || !b) return !a && !b && expected.document() == actual.document();
  const bool content = a->status == b->status && a->headers == b->headers && a->body == b->body &&
                       a->gzip == b->gzip && a->etag == b->etag &&
                       a->last_modified == b->last_modified;
  // Header lines are derived anew when a page comes from outside.
  return content && (currentSubject()->leavesProcess() ||
                     (a->head == b->head && a->gzip_head == b->gzip_head));
}

}  // namespace

const Subject*& currentSubject() noexcept {
  static const Subject* subject = nullptr;
  return subject;
}

std::vector<std::string> variantsIf(bool applies) {
  return applies ? currentSubject()->variants() : std::vector<std::string>();
}

std::vector<std::string> manualVariants() {
  auto variants = currentSubject()->variants();
  std::erase_if(variants, [](const auto& variant) { return currentSubject()->waits(variant); });
  return variants;
}

std::vector<std::string> variantsWithServers(std::size_t count) {
  auto variants = currentSubject()->variants();
  std::erase_if(variants, [count](const auto& variant) {
    return currentSubject()->servers(variant).size() < count;
  });
  return variants;
}

std::vector<std::string> storeVariantsIf(bool applies) {
  return applies ? currentSubject()->storeVariants() : std::vector<std::string>();
}

std::string variantName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

CacheKey keyOf(std::string_view bytes) {
  return {bytes, digestOf(bytes), 0};
}

std::unique_ptr<CacheEntry> makeEntry(const CacheKey& key, Value value, const Clock& clock,
                                      std::span<const std::string> inputs) {
  static const std::string kScopes[] = {"obj:/handbook/\xc3\xa9t\xc3\xa9", "table:comment"};
  auto entry = CacheEntry::make(key, {.scopes = kScopes, .inputs = inputs});
  const Millis now = clock.monotonic();
  entry->lifetime = {now, now + 60'000, now + 120'000, now + 180'000};
  entry->created_wall = clock.wall();
  entry->stamp = {1234567890123, 0xfedcba9876543210, 0x0123456789abcdef};
  entry->cost_us = 4711;
  entry->is_private = true;
  entry->value = std::move(value);
  return entry;
}

Value textValue(std::string_view text) {
  return {Document::from(Tree(text))};
}

Page noisePage(std::size_t size, std::uint64_t seed) {
  Page page;
  page.setHeader("Content-Type", "application/octet-stream");
  page.body.reserve(size + sizeof seed);
  while (page.body.size() < size) {
    seed = seed * 6364136223846793005 + 1442695040888963407;  // Knuth's MMIX
    const std::uint64_t high = seed >> 32;
    page.body.append(reinterpret_cast<const char*>(&high), 4);
  }
  page.body.resize(size);
  return page;
}

::testing::AssertionResult sameEntry(const CacheEntry& expected, const CacheEntry& actual) {
  const auto differs = [](std::string_view what) {
    return ::testing::AssertionFailure() << what << " differs";
  };
  if (expected.key() != actual.key()) return differs("key");
  if (!(expected.digest == actual.digest)) return differs("digest");
  if (!sameValue(expected.value, actual.value))
    return differs("value") << ": put was " << describe(expected.value) << ", got is "
                            << describe(actual.value);
  if (expected.stamp.as_of != actual.stamp.as_of) return differs("as_of");
  if (expected.stamp.era != actual.stamp.era) return differs("era");
  if (expected.stamp.schema != actual.stamp.schema) return differs("schema");
  if (!std::ranges::equal(expected.scopes(), actual.scopes())) return differs("scopes");
  if (expected.scopeNames() != actual.scopeNames()) return differs("scope names");
  if (expected.inputs() != actual.inputs()) return differs("inputs");
  if (expected.is_private != actual.is_private) return differs("is_private");
  if (expected.cost_us != actual.cost_us) return differs("cost_us");
  if (expected.created_wall != actual.created_wall) return differs("created_wall");
  if (!sameTime(expected.lifetime.created, actual.lifetime.created)) return differs("created");
  if (!sameTime(expected.lifetime.fresh_until, actual.lifetime.fresh_until))
    return differs("fresh_until");
  if (!sameTime(expected.lifetime.stale_until, actual.lifetime.stale_until))
    return differs("stale_until");
  if (!sameTime(expected.lifetime.error_until, actual.lifetime.error_until))
    return differs("error_until");
  return ::testing::AssertionSuccess();
}

void runOnThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
}

::testing::AssertionResult isHit(const Lookup& lookup) {
  if (lookup.status != Status::hit)
    return ::testing::AssertionFailure() << lookup.status << " (" << lookup.reason << ")";
  if (!lookup.entry) return ::testing::AssertionFailure() << "a hit without an entry";
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult isMiss(const Lookup& lookup) {
  if (lookup.status != Status::miss)
    return ::testing::AssertionFailure() << lookup.status << " (" << lookup.reason << ")";
  if (lookup.entry) return ::testing::AssertionFailure() << "a miss with an entry";
  if (lookup.reason == Reason::none)
    return ::testing::AssertionFailure() << "a miss without a reason";
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult isStored(const Stored& stored) {
  if (stored.ok) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "refused (" << stored.reason << ")";
}

}  // namespace larder::testing
