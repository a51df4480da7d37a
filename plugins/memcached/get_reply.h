// GetReply: reads what a server answers to one "get" with one or many keys, as it arrives.
//
//   VALUE <key> <flags> <bytes>\r\n <data> \r\n  ...  END\r\n
//
// Strict, because what comes back is untrusted: keys in the order in which they were asked for, no
// key that was not asked for, no length above the limit, nothing behind END. The text of the
// protocol: https://github.com/memcached/memcached/blob/master/doc/protocol.txt
//
// Used by one thread; the keys and the answers outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "connection.h"
#include "larder/cache.h"

namespace larder::memcached {

class GetReply {
 public:
  enum class State : std::uint8_t { unfinished, finished, nonsense };

  /// `answers[i]` belongs to `keys[i]`; set to a hit for each value, else left alone.
  GetReply(std::span<const std::string_view> keys, std::span<ByteLookup> answers,
           std::size_t max_value) noexcept
      : keys_(keys), answers_(answers), max_value_(max_value) {}

  /// Uses up what the connection has received.
  State advance(Connection& connection);
  /// Reads what is there, the rest of a large value straight to its place, and uses it up.
  State receive(Connection& connection, Connection::Arrived::State& arrived);

  /// Whether the server has said anything yet.
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  [[nodiscard]] std::size_t hits() const noexcept { return hits_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Of values, also of one that is not whole yet.
  [[nodiscard]] std::size_t arrived() const noexcept { return bytes_ + (value_ ? filled_ : 0); }

 private:
  [[nodiscard]] bool beginValue(std::string_view line);
  [[nodiscard]] bool endValue();

  std::span<const std::string_view> keys_;
  std::span<ByteLookup> answers_;
  std::size_t max_value_;
  std::size_t next_ = 0;  ///< keys before it are answered or missing
  bool begun_ = false;
  std::size_t hits_ = 0;
  std::size_t bytes_ = 0;

  // The value under way: its bytes and the line end behind them.
  std::shared_ptr<char[]> value_;
  std::size_t size_ = 0;
  std::size_t filled_ = 0;
  std::uint32_t flags_ = 0;
};

}  // namespace larder::memcached
