// What lies on a memcached server under one of our keys, written by anybody.
//
// First byte of the input: bit 0 set, the rest is an envelope as it stands; else the rest is a body
// that gets a right head, so that what lies behind the checksum is reached. Bit 1: with a secret.
// Bit 2: the body is a list of parts.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "../../framework/cache/src/envelope_format.h"
#include "../unit/cache/envelope_support.h"
#include "larder/cache/envelope.h"
#include "larder/http/page_head.h"
#include "larder/testing/manual_clock.h"

namespace {

using namespace larder;

constexpr std::string_view kNameSpace = "fuzz";
constexpr std::size_t kMaxValue = 1 << 16;

std::size_t touch(const Node& node) {
  std::size_t sum = 0;
  for (const char c : node.text()) sum += static_cast<unsigned char>(c);
  for (std::size_t i = 0; i < node.size(); ++i) {
    const bool map = node.type() == Node::Type::map;
    if (map) sum += node.keyAt(i).size();
    sum += touch(map ? node.valueAt(i) : node.at(i));
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string secret = (data[0] & 2) != 0 ? "secret" : "";
  std::string envelope(input);
  if ((data[0] & 1) == 0) {
    const EnvelopeFormat format(digestOf(kNameSpace), {secret, 1 << 20, kMaxValue});
    envelope = format.seal(input, (data[0] & 4) != 0 ? EnvelopeFormat::kParts : std::uint8_t{0});
  }

  const larder::testing::ManualClock clock;
  const auto store = std::make_shared<larder::testing::MemoryStore>();
  EnvelopeCache cache(
      store, clock,
      {.name_space = std::string(kNameSpace), .secret = secret, .max_value = kMaxValue},
      http::finishStoredPage);
  const larder::testing::TestKey key("/a", "x");
  cache.put(key, EntryPtr(larder::testing::makeEntry(key, clock, Document())), kForever);
  store->items.begin()->second.value = envelope;
  const Lookup found = cache.get(key, kForever);
  if (found.status != Status::hit) return 0;
  if (found.entry->key() != CacheKey(key).bytes) std::abort();
  if (found.entry->lifetime.end() <= clock.monotonic()) std::abort();
  if (found.entry->lifetime.created > clock.monotonic()) std::abort();
  if (const auto page = found.entry->value.page()) return page->body.size() > kMaxValue;
  // More nodes than bytes would mean that memory was taken that nobody had paid for.
  const bool sealed_here = (data[0] & 1) == 0;  // then it is not compressed
  if (sealed_here && found.entry->value.document().bytes() > 34 * envelope.size() + 4096) {
    std::abort();
  }
  touch(found.entry->value.document().root());
  return 0;
}
