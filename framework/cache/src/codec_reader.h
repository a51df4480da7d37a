// Reads MessagePack of a known shape from untrusted bytes, one item after the other.
//
//   MessagePackReader in(bytes);
//   if (in.array() == 2) { name = in.text(); size = in.unsignedInteger(); }
//   if (!in.complete()) ...
//
// The first item that is not what was asked for ends it: this and all later reads give zero or
// nothing. Used by one thread; what it returns points into the bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace larder {

namespace msgpack_format {
enum : unsigned char {
  kNil = 0xc0,
  kFalse = 0xc2,
  kTrue = 0xc3,
  kBin8 = 0xc4,
  kBin16 = 0xc5,
  kBin32 = 0xc6,
  kFloat32 = 0xca,
  kFloat64 = 0xcb,
  kUint8 = 0xcc,
  kUint16 = 0xcd,
  kUint32 = 0xce,
  kUint64 = 0xcf,
  kInt8 = 0xd0,
  kInt16 = 0xd1,
  kInt32 = 0xd2,
  kInt64 = 0xd3,
  kStr8 = 0xd9,
  kStr16 = 0xda,
  kStr32 = 0xdb,
  kArray16 = 0xdc,
  kArray32 = 0xdd,
  kMap16 = 0xde,
  kMap32 = 0xdf,
};

/// `width` bytes, big-endian.
inline std::uint64_t loadBig(const char* p, unsigned width) noexcept {
  std::uint64_t v = 0;
  for (unsigned i = 0; i < width; ++i) v = v << 8 | static_cast<unsigned char>(p[i]);
  return v;
}
template <class T>
T loadBig(const char* p) noexcept {
  static_assert(std::endian::native == std::endian::little);
  T v;
  std::memcpy(&v, p, sizeof(v));
  if constexpr (sizeof(T) == 2)
    v = static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(v)));
  if constexpr (sizeof(T) == 4)
    v = static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(v)));
  if constexpr (sizeof(T) == 8)
    v = static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(v)));
  return v;
}
}  // namespace msgpack_format

class MessagePackReader {
 public:
  explicit MessagePackReader(std::string_view bytes) noexcept
      : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Everything was read and was what was asked for.
  [[nodiscard]] bool complete() const noexcept { return !failed_ && p_ == end_; }
  [[nodiscard]] std::string_view rest() const noexcept {
    return failed_ ? std::string_view() : std::string_view(p_, left());
  }

  /// Number of items; never more than there are bytes left.
  std::size_t array() noexcept {
    using namespace msgpack_format;
    const unsigned char tag = next();
    std::uint64_t n = 0;
    if (tag >= 0x90 && tag <= 0x9f) {
      n = tag & 0x0fu;
    } else if (tag == kArray16 || tag == kArray32) {
      n = number(tag == kArray16 ? 2 : 4);
    } else {
      fail();
    }
    if (n > left()) fail();
    return failed_ ? 0 : static_cast<std::size_t>(n);
  }

  std::uint64_t unsignedInteger() noexcept {
    using namespace msgpack_format;
    const unsigned char tag = next();
    if (tag < 0x80) return tag;
    if (tag >= kUint8 && tag <= kUint64) return number(1u << (tag - kUint8));
    fail();
    return 0;
  }

  /// An integer from 0 to 2^63 - 1.
  std::int64_t natural() noexcept {
    const std::uint64_t v = unsignedInteger();
    if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) fail();
    return failed_ ? 0 : static_cast<std::int64_t>(v);
  }

  bool boolean() noexcept {
    const unsigned char tag = next();
    if (tag != msgpack_format::kTrue && tag != msgpack_format::kFalse) fail();
    return !failed_ && tag == msgpack_format::kTrue;
  }

  std::string_view text() noexcept {
    using namespace msgpack_format;
    const unsigned char tag = next();
    if (tag >= 0xa0 && tag <= 0xbf) return take(tag & 0x1fu);
    if (tag >= kStr8 && tag <= kStr32) return take(number(1u << (tag - kStr8)));
    fail();
    return {};
  }

  std::string_view bytes() noexcept {
    using namespace msgpack_format;
    const unsigned char tag = next();
    if (tag >= kBin8 && tag <= kBin32) return take(number(1u << (tag - kBin8)));
    fail();
    return {};
  }

 private:
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - p_); }
  void fail() noexcept { failed_ = true; }
  unsigned char next() noexcept {
    if (failed_ || p_ == end_) {
      failed_ = true;
      return msgpack_format::kNil;
    }
    return static_cast<unsigned char>(*p_++);
  }
  std::uint64_t number(unsigned width) noexcept {
    if (failed_ || left() < width) {
      failed_ = true;
      return 0;
    }
    const std::uint64_t v = msgpack_format::loadBig(p_, width);
    p_ += width;
    return v;
  }
  std::string_view take(std::uint64_t size) noexcept {
    if (failed_ || size > left()) {
      failed_ = true;
      return {};
    }
    const std::string_view v(p_, static_cast<std::size_t>(size));
    p_ += size;
    return v;
  }

  const char* p_;
  const char* end_;
  bool failed_ = false;
};

}  // namespace larder
