// The bytes of an envelope, as larder/cache/envelope.h lays them out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "larder/cache.h"
#include "larder/entry.h"
#include "larder/key.h"
#include "larder/result.h"

namespace larder {

/// Immutable, safe from any thread.
class EnvelopeFormat {
 public:
  struct Options {
    std::string secret;
    std::size_t compress_above = 0;
    std::size_t max_body = 0;
  };
  static constexpr std::uint8_t kCompressed = 1;
  static constexpr std::uint8_t kAuthenticated = 2;
  static constexpr std::uint8_t kParts = 4;

  EnvelopeFormat(const Digest& name_space, Options options);

  /// The body of an entry, uncompressed.
  Result<std::string> encode(const CacheEntry& entry, std::string_view key_bytes) const;
  /// Head and body; compressed only where that pays.
  [[nodiscard]] std::string seal(std::string_view body, std::uint8_t flags = 0) const;

  /// How many bytes an envelope has beside its body, at most.
  [[nodiscard]] static constexpr std::size_t overhead() noexcept { return 32; }

  struct Opened {
    Reason reason = Reason::none;  ///< why there is no body
    std::uint8_t flags = 0;
    Buffer body;  ///< uncompressed
  };
  [[nodiscard]] Opened unseal(const Buffer& envelope) const;

  /// Never a value that belongs to another key, and none whose lifetime is over.
  struct Decoded {
    Reason reason = Reason::none;
    std::unique_ptr<CacheEntry> entry;
  };
  /// `finish` may complete a page before it becomes immutable, or refuse it as damaged.
  [[nodiscard]] Decoded decode(const Buffer& body, const CacheKey& key, Millis now, Millis wall,
                               const std::function<Result<>(Page&)>& finish) const;

 private:
  using Mac = std::array<char, 16>;
  [[nodiscard]] Mac macOf(std::string_view head, std::string_view body) const noexcept;

  std::array<char, 16> name_space_;
  std::array<unsigned char, 32> mac_key_{};
  Options options_;
};

}  // namespace larder
