// StatementCache: prepared statements by their text, the least recently used one goes.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace larder::site::sqlite {

/// T holds a Statement. Used by the thread that uses the connection.
template <class T>
class StatementCache {
 public:
  explicit StatementCache(std::size_t limit = 128) : limit_(limit) {}

  /// The value for `sql`, made by `make()` if there is none. Valid until the next call.
  template <class Make>
  T& get(std::string_view sql, Make&& make) {
    if (const auto it = by_sql_.find(sql); it != by_sql_.end()) {
      recent_.splice(recent_.begin(), recent_, it->second);
      return it->second->second;
    }
    recent_.emplace_front(std::string(sql), make());
    by_sql_.emplace(recent_.front().first, recent_.begin());
    if (recent_.size() > limit_) {
      by_sql_.erase(recent_.back().first);
      recent_.pop_back();
    }
    return recent_.front().second;
  }
  void clear() noexcept {
    by_sql_.clear();
    recent_.clear();
  }

 private:
  std::size_t limit_;
  std::list<std::pair<std::string, T>> recent_;
  std::unordered_map<std::string_view, typename decltype(recent_)::iterator> by_sql_;
};

}  // namespace larder::site::sqlite
