// RegexCache: compiled patterns of RE2, shared by the machines of one script. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace larder::site {

class RegexCache {
 public:
  RegexCache();
  ~RegexCache();
  RegexCache(const RegexCache&) = delete;
  RegexCache& operator=(const RegexCache&) = delete;

  /// Never null; one that RE2 refuses is not ok() and not kept.
  [[nodiscard]] std::shared_ptr<const re2::RE2> get(std::string_view pattern);

 private:
  static constexpr std::size_t kCapacity = 32;

  using Item = std::pair<std::string, std::shared_ptr<const re2::RE2>>;
  std::mutex mutex_;
  std::list<Item> items_;  ///< the one used last is in front
  std::map<std::string_view, std::list<Item>::iterator> by_pattern_;
};

}  // namespace larder::site
