#include "larder/http/conditional.h"

#include "larder/http/http_date.h"

namespace larder::http {
namespace {

bool isWeak(std::string_view tag) {
  return tag.starts_with("W/");
}

std::string_view opaque(std::string_view tag) {
  return isWeak(tag) ? tag.substr(2) : tag;
}

// An entity tag's byte (RFC 9110, 8.8.3).
bool isTagByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == 0x21 || (byte >= 0x23 && byte <= 0x7E) || byte >= 0x80;
}

// Takes the next tag of a list, whose tags may hold commas. Empty at the end or where the list is
// malformed.
std::string_view takeTag(std::string_view& list) {
  const std::size_t from = list.find_first_not_of(" \t,");
  if (from == std::string_view::npos) return {};
  list.remove_prefix(from);
  std::size_t end = isWeak(list) ? 2 : 0;
  if (end >= list.size() || list[end] != '"') return {};
  ++end;
  while (end < list.size() && isTagByte(list[end])) ++end;
  if (end >= list.size() || list[end] != '"') return {};
  const std::string_view tag = list.substr(0, end + 1);
  list.remove_prefix(end + 1);
  const std::size_t next = list.find_first_not_of(" \t");
  if (next != std::string_view::npos && list[next] != ',') return {};
  return tag;
}

// The date of a field, when it is there and can be read.
std::optional<std::int64_t> dateOf(const RequestHead& request, std::string_view name,
                                   std::int64_t now) {
  const auto text = request.field(name);
  return text ? parseHttpDate(*text, now) : std::nullopt;
}

struct TagField {
  bool present = false;
  bool matches = false;
};

TagField tagField(const RequestHead& request, std::string_view name, std::string_view etag,
                  TagComparison comparison) {
  TagField field;
  request.forEachField(name, [&](std::string_view list) {
    field.present = true;
    field.matches = field.matches || listMatches(list, etag, comparison);
  });
  return field;
}

}  // namespace

bool listMatches(std::string_view list, std::string_view etag, TagComparison comparison) noexcept {
  if (list == "*") return true;
  if (etag.empty() || (comparison == TagComparison::strong && isWeak(etag))) return false;
  while (!list.empty()) {
    const std::string_view tag = takeTag(list);
    if (tag.empty()) return false;
    const bool comparable = comparison == TagComparison::weak || !isWeak(tag);
    if (comparable && opaque(tag) == opaque(etag)) return true;
  }
  return false;
}

Precondition evaluatePreconditions(const RequestHead& request, const Validators& current) noexcept {
  // The century of a two-digit year is told by the time of the representation itself.
  const std::int64_t now = current.last_modified.value_or(0);
  const TagField match = tagField(request, "if-match", current.etag, TagComparison::strong);
  if (match.present) {
    if (!match.matches) return Precondition::failed;
  } else if (current.last_modified) {
    const auto unmodified_since = dateOf(request, "if-unmodified-since", now);
    if (unmodified_since && *current.last_modified > *unmodified_since) return Precondition::failed;
  }

  const bool reads = request.method() == Method::get || request.method() == Method::head;
  const TagField none = tagField(request, "if-none-match", current.etag, TagComparison::weak);
  if (none.present) {
    if (!none.matches) return Precondition::proceed;
    return reads ? Precondition::not_modified : Precondition::failed;
  }
  if (reads && current.last_modified) {
    if (dateOf(request, "if-modified-since", now) == current.last_modified) {
      return Precondition::not_modified;
    }
  }
  return Precondition::proceed;
}

}  // namespace larder::http
