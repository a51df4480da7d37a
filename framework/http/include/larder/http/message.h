// RequestHead: the head of one HTTP/1.x request, as offsets into the bytes it was parsed from.
//
//   if (parser.parse(bytes, head) == ParseStatus::complete)
//     if (auto type = head.field("content-type")) ...
//
// The head owns no text. It reads the bytes through base(); when they move (to a worker, say),
// rebase() is all that is needed. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "larder/ignore_case.h"

namespace larder::http {

enum class Method : std::uint8_t { get, head, post, put, patch, del, options, other };

/// How the length of a body is told (RFC 9112, 6.3).
enum class Framing : std::uint8_t { none, length, chunked };

/// A part of the head's bytes.
struct Extent {
  std::uint32_t at = 0;
  std::uint32_t size = 0;
};

struct Field {
  Extent name;
  Extent value;
};

/// For the names of fields and hosts, and for tokens.
using larder::equalsIgnoringCase;

/// Calls `visit` with each element of a comma-separated list (RFC 9110, 5.6.1), white space around
/// it dropped and empty elements left out. Ends early, and returns false, when `visit` returns
/// false. Not for lists whose elements may hold quoted commas.
template <class Visit>
bool forEachListElement(std::string_view list, Visit visit) {
  constexpr std::string_view kSpace = " \t";
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    std::string_view element = list.substr(0, end);
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    const std::size_t from = element.find_first_not_of(kSpace);
    if (from == std::string_view::npos) continue;
    element = element.substr(from, element.find_last_not_of(kSpace) - from + 1);
    if (!visit(element)) return false;
  }
  return true;
}

class RequestHead {
 public:
  /// Most requests have fewer fields; a head that is reused keeps its memory.
  RequestHead() { fields_.reserve(24); }

  [[nodiscard]] Method method() const noexcept { return method_; }
  [[nodiscard]] std::string_view methodName() const noexcept { return text(method_name_); }
  /// The request target as it was sent.
  [[nodiscard]] std::string_view target() const noexcept { return text(target_); }
  /// Undecoded path of the target: begins with a slash, or is "*" for OPTIONS.
  [[nodiscard]] std::string_view path() const noexcept {
    return path_.size == 0 ? std::string_view("/") : text(path_);
  }
  /// What follows '?', undecoded; empty when there is none.
  [[nodiscard]] std::string_view query() const noexcept { return text(query_); }
  /// Host and port as sent, from an absolute target if there is one, else from the Host field.
  /// Empty only in HTTP/1.0.
  [[nodiscard]] std::string_view authority() const noexcept { return text(authority_); }
  /// The authority without its port.
  [[nodiscard]] std::string_view host() const noexcept;
  /// 0 for HTTP/1.0, 1 for HTTP/1.1 and later minor versions.
  [[nodiscard]] int minorVersion() const noexcept { return minor_version_; }

  [[nodiscard]] std::size_t fieldCount() const noexcept { return fields_.size(); }
  [[nodiscard]] std::string_view fieldName(std::size_t i) const noexcept {
    return text(fields_[i].name);
  }
  [[nodiscard]] std::string_view fieldValue(std::size_t i) const noexcept {
    return text(fields_[i].value);
  }
  /// Value of the first field of that name, compared without case; nullopt when there is none.
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const noexcept;
  /// Calls `visit` with the value of every field of that name, in order.
  template <class Visit>
  void forEachField(std::string_view name, Visit visit) const {
    for (const Field& f : fields_) {
      if (f.name.size == name.size() && equalsIgnoringCase(text(f.name), name)) {
        visit(text(f.value));
      }
    }
  }

  [[nodiscard]] Framing framing() const noexcept { return framing_; }
  /// Of the body, bytes; 0 unless framing() is length.
  [[nodiscard]] std::uint64_t contentLength() const noexcept { return content_length_; }
  /// Whether the client lets the connection stay open after the answer.
  [[nodiscard]] bool keepAlive() const noexcept { return keep_alive_; }
  /// The client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool expectsContinue() const noexcept { return expects_continue_; }
  /// Bytes of the head including the empty line.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] const char* base() const noexcept { return base_; }
  void rebase(const char* base) noexcept { base_ = base; }
  /// Forgets the message and keeps the memory.
  void clear() noexcept;

 private:
  friend class HeadParser;
  [[nodiscard]] std::string_view text(Extent e) const noexcept { return {base_ + e.at, e.size}; }

  const char* base_ = nullptr;
  std::vector<Field> fields_;
  Extent method_name_, target_, path_, query_, authority_;
  std::uint64_t content_length_ = 0;
  std::size_t size_ = 0;
  Method method_ = Method::other;
  Framing framing_ = Framing::none;
  std::int8_t minor_version_ = 1;
  bool keep_alive_ = true;
  bool expects_continue_ = false;
};

}  // namespace larder::http
