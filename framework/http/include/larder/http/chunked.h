// ChunkedDecoder: takes a chunked body apart (RFC 9112, 7.1), strictly and piece by piece.
//
//   ChunkedDecoder decoder(limits);
//   std::string body;
//   std::size_t used = 0;
//   ParseStatus s = decoder.decode(bytes, body, used);   // appends to body
//   // incomplete: used == bytes.size(), call again with what comes next
//   // complete:   bytes[used] is the first byte after the trailer section
//
// Trailer fields are checked like any field and dropped. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "larder/http/head_parser.h"

namespace larder::http {

class ChunkedDecoder {
 public:
  /// Bytes of one chunk's size line with its extensions, of all such extensions of a body, and of a
  /// trailer section. More is refused.
  static constexpr std::size_t kSizeLineLimit = 1024;
  static constexpr std::size_t kExtensionsLimit = 16 * 1024UL;
  static constexpr std::size_t kTrailersLimit = 8 * 1024UL;

  explicit ChunkedDecoder(std::uint64_t body_limit) noexcept : body_limit_(body_limit) {}

  ParseStatus decode(std::string_view bytes, std::string& body, std::size_t& used);
  [[nodiscard]] const ParseFailure& failure() const noexcept { return failure_; }

 private:
  enum class State : std::uint8_t { size_line, data, data_cr, data_lf, trailers };

  ParseStatus fail(int status, std::string_view reason) noexcept;
  // Collects a line over several calls. Complete: `line` is without its line end.
  ParseStatus takeLine(std::string_view bytes, std::size_t& used, std::size_t limit, int status,
                       std::string_view& line);
  bool readSizeLine(std::string_view line);

  std::uint64_t body_limit_;
  std::uint64_t total_ = 0;      // announced by the chunks so far
  std::uint64_t remaining_ = 0;  // of the chunk being read
  std::size_t extensions_ = 0;
  std::size_t trailers_ = 0;
  std::string pending_;  // a line of which only a part has arrived
  bool line_taken_ = false;
  ParseFailure failure_;
  State state_ = State::size_line;
};

}  // namespace larder::http
