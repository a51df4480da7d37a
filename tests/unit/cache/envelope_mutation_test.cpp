// Envelopes that somebody has changed: each is a counted miss, or as good as the original.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "envelope_format.h"
#include "envelope_support.h"
#include "larder/cache/envelope.h"
#include "larder/http/page_head.h"
#include "larder/testing/manual_clock.h"

namespace larder {
namespace {

using larder::testing::makeEntry;
using larder::testing::ManualClock;
using larder::testing::MemoryStore;
using larder::testing::TestKey;

constexpr std::string_view kNameSpace = "site /a shared";

/// 10^5 in each build; LARDER_MUTATIONS=1000000 for the long run.
std::size_t mutations() {
  const char* asked = std::getenv("LARDER_MUTATIONS");
  return asked ? std::strtoul(asked, nullptr, 10) : 100'000;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string operator()(std::string bytes) {
    const auto times = 1 + pick(3);
    for (std::size_t i = 0; i < times; ++i) mutateOnce(bytes);
    return bytes;
  }
  std::size_t pick(std::size_t below) { return below == 0 ? 0 : random_() % below; }

 private:
  void mutateOnce(std::string& bytes) {
    static constexpr unsigned char kTelling[] = {0x00, 0x7f, 0x80, 0x90, 0x9f, 0xa0,
                                                 0xc0, 0xc1, 0xc4, 0xc6, 0xcf, 0xd3,
                                                 0xd9, 0xdb, 0xdd, 0xdf, 0xff};
    const std::size_t at = pick(bytes.size());
    switch (pick(7)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>(kTelling[pick(std::size(kTelling))]);
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, 1 + pick(8));
        break;
      case 4:
        bytes.insert(at, 1 + pick(8), static_cast<char>(pick(256)));
        break;
      case 5:
        bytes.insert(at, bytes.substr(pick(bytes.size() + 1), pick(64)));
        break;
      default:
        for (std::size_t i = at; i < bytes.size() && i < at + 4; ++i) bytes[i] = '\xff';
    }
  }
  std::mt19937_64 random_;
};

class EnvelopeMutation : public ::testing::TestWithParam<std::string> {
 protected:
  EnvelopeMutation() {
    Page page;
    page.headers = {{"Content-Type", "text/html"}, {"Location", "/b"}};
    page.body = std::string(300, 'p') + "<html>";
    page.gzip = "\x1f\x8b gzip";
    page.etag = std::string(32, 'e');
    originals_.push_back(seal(page, 0));
    originals_.push_back(seal(Document::from(tree()), 0));
    originals_.push_back(seal(Document::from(tree()), 1 << 20));
  }

  static Tree tree() {
    Tree list = Tree::list();
    for (int i = 0; i < 25; ++i) {
      list.add(Tree::map()
                   .set("Title", "title " + std::to_string(i))
                   .set("score", 1.5 * i)
                   .set("tags", Tree::list({true, nullptr, Tree::Bytes{"raw"}})));
    }
    return list;
  }
  std::string seal(Value value, std::size_t compress_above) {
    EnvelopeCache writer(store_, clock_, options(compress_above));
    auto entry = makeEntry(key_, clock_, std::move(value), {"param:q"});
    EXPECT_TRUE(writer.put(key_, EntryPtr(std::move(entry)), kForever).ok);
    return store_->items.begin()->second.value;
  }
  static EnvelopeOptions options(std::size_t compress_above) {
    return {.name_space = std::string(kNameSpace),
            .secret = GetParam(),
            .compress_above = compress_above,
            .max_value = 1 << 16};
  }
  /// Reads every byte of the value, for the sanitizers.
  static std::size_t touch(const Node& node) {
    std::size_t sum = 0;
    for (const char c : node.text()) sum += static_cast<unsigned char>(c);
    for (std::size_t i = 0; i < node.size(); ++i) {
      if (node.type() == Node::Type::map) {
        sum += node.keyAt(i).size() + touch(node.valueAt(i));
      } else {
        sum += touch(node.at(i));
      }
    }
    return sum;
  }

  ManualClock clock_;
  const TestKey key_{"/a", "x"};
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::vector<std::string> originals_;
};

TEST_P(EnvelopeMutation, FaultA34_AChangedEnvelopeIsACountedMiss) {
  EnvelopeCache cache(store_, clock_, options(1 << 20), http::finishStoredPage);
  Mutator mutate(1);
  std::size_t misses = 0;
  for (std::size_t i = 0; i < mutations() / 4; ++i) {
    const std::string& original = originals_[i % originals_.size()];
    std::string& stored = store_->items.begin()->second.value;
    stored = mutate(original);
    if (stored == original) continue;
    const Lookup found = cache.get(key_, kForever);
    ASSERT_EQ(found.status, Status::miss) << i;
    ++misses;
  }
  std::uint64_t counted = 0;
  for (const auto& [name, value] : cache.stats()) {
    if (name == "envelope_damaged" || name == "envelope_old_format") counted += value;
  }
  EXPECT_EQ(counted, misses);
}

// Somebody who knows the format and, in one case, the secret: the seal holds, the body is wrong.
// Whatever is accepted is a well-formed value of this very key.
TEST_P(EnvelopeMutation, FaultA34_AWellSealedBodyIsReadWithoutHarm) {
  const Digest name_space = digestOf(kNameSpace);
  const EnvelopeFormat format(name_space, {GetParam(), 1 << 20, 1 << 16});
  EnvelopeCache cache(store_, clock_, options(1 << 20), http::finishStoredPage);
  Mutator mutate(2);
  std::vector<std::string> bodies;
  for (const auto& original : originals_) {
    const auto opened =
        format.unseal({std::make_shared<std::string>(original), std::string_view(original)});
    ASSERT_EQ(opened.reason, Reason::none);
    bodies.emplace_back(opened.body.data);
  }
  std::size_t sum = 0;
  for (std::size_t i = 0; i < mutations() / 4; ++i) {
    const auto flags = mutate.pick(50) == 0 ? EnvelopeFormat::kParts : std::uint8_t{0};
    store_->items.begin()->second.value = format.seal(mutate(bodies[i % bodies.size()]), flags);
    const Lookup found = cache.get(key_, kForever);
    if (found.status != Status::hit) continue;
    ASSERT_EQ(found.entry->key(), CacheKey(key_).bytes);
    ASSERT_GT(found.entry->lifetime.end(), clock_.monotonic());
    const auto page = found.entry->value.page();
    if (page) {
      ASSERT_EQ(page->head.find("\r\n\r\n"), std::string_view::npos) << i;
    }
    sum += page ? page->body.size() : touch(found.entry->value.document().root());
  }
  EXPECT_GT(sum, 0u);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutASecret, EnvelopeMutation,
                         ::testing::Values(std::string(), std::string("a secret")),
                         [](const auto& run) { return run.param.empty() ? "Plain" : "Secret"; });

}  // namespace
}  // namespace larder
