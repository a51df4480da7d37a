// Keys of generated requests: equal exactly if the requests agree in what the key names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <unordered_map>

#include "larder/cache/key_builder.h"
#include "larder/cache/normaliser.h"

namespace larder {
namespace {

/// A request as a model sees it: every difference that counts, and none else.
struct ModelRequest {
  std::string site, path, view;
  std::uint64_t revision = 0;
  /// By input name; nothing: absent. Each value is text, an integer, or a structured one.
  std::map<std::string, std::optional<std::vector<std::variant<std::string, std::int64_t, Tree>>>>
      inputs;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  /// Bytes that are dangerous where boundaries are drawn by characters, and few enough to meet.
  std::string text() {
    static const std::vector<std::string> kTexts = {"",
                                                    "a",
                                                    "b",
                                                    "ab",
                                                    "1",
                                                    "None",
                                                    "null",
                                                    std::string("\0", 1),
                                                    std::string("a\0b", 3),
                                                    ":",
                                                    ",",
                                                    "=",
                                                    "t",
                                                    "\xff",
                                                    std::string("\1\0\0\0", 4),
                                                    std::string("\0\0\0\0a", 5)};
    return kTexts[below(kTexts.size())];
  }
  Tree tree(int depth = 0) {
    switch (below(depth < 2 ? 7 : 5)) {
      case 0:
        return Tree();
      case 1:
        return Tree(below(2) == 0);
      case 2:
        return Tree(static_cast<std::int64_t>(below(3)));
      case 3:
        return Tree(static_cast<double>(below(3)));
      case 4:
        return Tree(text());
      case 5: {
        Tree::List list;
        for (auto n = below(3); n > 0; --n) list.push_back(tree(depth + 1));
        return Tree::list(std::move(list));
      }
      default: {
        Tree map = Tree::map();
        for (auto n = below(3); n > 0; --n) map.set(text(), tree(depth + 1));
        return map;
      }
    }
  }
  ModelRequest request() {
    static const std::vector<std::string> kNames = {"arg:0",   "cookie:a", "header:a",  "param:a",
                                                    "param:b", "params",   "session:a", "user"};
    ModelRequest r{text(), text(), text(), below(2), {}};
    for (const auto& name : kNames) {
      if (below(3) != 0) continue;
      auto& input = r.inputs[name];
      if (below(4) == 0) continue;
      input.emplace();
      for (auto n = below(3); n > 0; --n) input->push_back(value());
    }
    return r;
  }
  /// The same but for one thing, mostly.
  ModelRequest neighbour(ModelRequest r) {
    switch (below(6)) {
      case 0:
        r.path = text();
        break;
      case 1:
        r.revision ^= below(2);
        break;
      case 2:
        std::swap(r.path, r.view);
        break;
      default:
        if (r.inputs.empty()) break;
        auto& input =
            std::next(r.inputs.begin(), static_cast<long>(below(r.inputs.size())))->second;
        if (!input || input->empty() || below(4) == 0)
          input.emplace({value()});
        else if (below(3) == 0)
          std::swap(input->front(), input->back());
        else
          input->back() = value();
    }
    return r;
  }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

 private:
  std::variant<std::string, std::int64_t, Tree> value() {
    switch (below(3)) {
      case 0:
        return text();
      case 1:
        return static_cast<std::int64_t>(below(3));
      default:
        return tree();
    }
  }
  std::mt19937_64 random_;
};

std::string keyOf(const ModelRequest& request) {
  KeyBuilder key;
  key.begin(request.site, request.path, request.view, request.revision);
  for (const auto& [name, values] : request.inputs) {
    if (!values) {
      key.absent(name);
      continue;
    }
    key.input(name, values->size());
    for (const auto& value : *values) {
      if (const auto* t = std::get_if<std::string>(&value)) key.text(*t);
      if (const auto* i = std::get_if<std::int64_t>(&value)) key.integer(*i);
      if (const auto* d = std::get_if<Tree>(&value)) key.node(Document::from(*d).root());
    }
  }
  return std::string(key.bytes());
}

bool same(const ModelRequest& a, const ModelRequest& b) {
  if (a.site != b.site || a.path != b.path || a.view != b.view || a.revision != b.revision ||
      a.inputs.size() != b.inputs.size())
    return false;
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), [](auto& x, auto& y) {
    if (x.first != y.first || x.second.has_value() != y.second.has_value()) return false;
    if (!x.second) return true;
    return std::equal(x.second->begin(), x.second->end(), y.second->begin(), y.second->end(),
                      [](const auto& v, const auto& w) {
                        if (v.index() != w.index()) return false;
                        if (const auto* d = std::get_if<Tree>(&v))
                          return Document::from(*d) == Document::from(std::get<Tree>(w));
                        if (const auto* t = std::get_if<std::string>(&v))
                          return *t == std::get<std::string>(w);
                        return std::get<std::int64_t>(v) == std::get<std::int64_t>(w);
                      });
  });
}

// LARDER_TEST_KEY_PAIRS=1000000 for the whole of it.
TEST(KeyProperty, Semantics01_KeysAreEqualExactlyIfTheRequestsAre) {
  const char* given = std::getenv("LARDER_TEST_KEY_PAIRS");
  const long pairs = given ? std::atol(given) : 50'000;
  Generator generator(20'261'130);
  long equal = 0;
  for (long i = 0; i < pairs; ++i) {
    const auto one = generator.request();
    const auto other = generator.below(2) == 0 ? generator.neighbour(one) : generator.request();
    const auto key = keyOf(one);
    const bool alike = same(one, other);
    equal += alike ? 1 : 0;
    ASSERT_EQ(key == keyOf(other), alike) << i << "\n" << describeKey(key);
    for (const auto& [name, values] : one.inputs) ASSERT_TRUE(keyHasInput(key, name)) << name;
    ASSERT_EQ(keyParts(key).size(), 3 + one.inputs.size());
  }
  EXPECT_GT(equal, pairs / 100) << "pairs that differ prove nothing about those that do not";
}

}  // namespace
}  // namespace larder
