// KeyBuilder: writes the canonical bytes of a cache key.
//
// Bytes, all numbers little-endian: version (1 byte: 2), site, path, view (each u32 length +
// bytes), revision (u64), definition (u32 length + bytes), then for each input, sorted by name:
// name (u32 length + bytes), number of values
// + 1 as u32 (0: the input is absent), and each value as one type byte, u32 length, bytes. Every
// part is length-prefixed, so two different requests never have the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/document.h"
#include "larder/key.h"

namespace larder {

/// Not copied, used by one thread. Up to kInline bytes need no allocation.
class KeyBuilder {
 public:
  KeyBuilder() noexcept = default;
  KeyBuilder(const KeyBuilder&) = delete;
  KeyBuilder& operator=(const KeyBuilder&) = delete;

  void begin(std::string_view site, std::string_view path, std::string_view view,
             std::uint64_t revision, std::string_view definition = {});
  /// Inputs must come sorted by name, each once; followed by as many values as announced.
  void input(std::string_view name, std::size_t values);
  void absent(std::string_view name);
  void text(std::string_view value) { typed('t', value); }
  void integer(std::int64_t value);
  /// A structured value, by content: types and nesting are part of it.
  void node(const Node& value);

  [[nodiscard]] std::string_view bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] CacheKey key(std::uint32_t partition = 0) const noexcept {
    return {bytes(), digestOf(bytes()), partition};
  }

 private:
  static constexpr std::size_t kInline = 512;
  // The inline ones are used by key_builder.cpp alone.
  inline void raw(const void* data, std::size_t size);
  inline void number(std::uint64_t value, std::size_t width);
  inline void sized(std::string_view text);
  /// Room for so many bytes more.
  void grow(std::size_t size);
  void typed(char type, std::string_view value);
  void encode(const Node& value);

  std::array<char, kInline> inline_;
  std::unique_ptr<char[]> heap_;
  char* data_ = inline_.data();
  std::size_t size_ = 0;
  std::size_t capacity_ = kInline;
};

/// The input that contains this one: "params" for "param:x", "headers", "cookies"; the name itself
/// for all others (L18).
[[nodiscard]] std::string_view enumerationOf(std::string_view name) noexcept;

/// Whether the key bytes name this input or its enumeration (absent ones included). False for bytes
/// that are no key.
[[nodiscard]] bool keyHasInput(std::string_view key_bytes, std::string_view name) noexcept;

/// One part of a key, for people: site, path, view, definition if there is one, then the inputs.
struct KeyPart {
  std::string name;
  std::vector<std::string> values;  ///< what is no text as "<8 bytes>"
  bool absent = false;
};
/// Empty for bytes that are no key.
[[nodiscard]] std::vector<KeyPart> keyParts(std::string_view key_bytes);

/// The parts of a key for people, as "path=/a, view=page, param:q=\"x\"". Empty for bytes that are
/// no key.
[[nodiscard]] std::string describeKey(std::string_view key_bytes);

/// Where the values of inputs come from: the request, or the arguments of a call. Immutable while a
/// call runs.
class InputSource {
 public:
  virtual ~InputSource() = default;
  /// Writes one input (input() or absent()) with its current value.
  virtual void write(std::string_view name, KeyBuilder& key) const = 0;
};

}  // namespace larder
