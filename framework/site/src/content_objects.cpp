#include "content_objects.h"

#include <algorithm>

#include "content_json.h"

namespace larder::site {

namespace {

constexpr std::size_t kMaxPath = 1'024;
constexpr std::size_t kMaxBody = 64u << 20U;
constexpr std::size_t kMaxTags = 64;
constexpr std::size_t kMaxTag = 200;

[[noreturn]] void refuse(std::string_view path, std::string_view problem) {
  throw StoreError(std::string(path.substr(0, kMaxPath)).append(": ").append(problem));
}

bool hasControl(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

Object readObject(const sqlite::Rows& row) {
  Object object;
  object.path = row.text(0);
  object.name = row.text(1);
  object.type = row.text(2);
  object.title = row.text(3);
  object.body = row.text(4);
  object.properties = decodeJson(row.text(5));
  object.revision = row.integer(6);
  object.created = row.integer(7);
  object.modified = row.integer(8);
  object.manager = row.text(9);
  for (auto tags = row.text(10); !tags.empty();) {
    const auto end = std::min(tags.find('\n'), tags.size());
    object.tags.emplace_back(tags.substr(0, end));
    tags.remove_prefix(std::min(end + 1, tags.size()));
  }
  std::sort(object.tags.begin(), object.tags.end());
  return object;
}

std::string containsPattern(std::string_view text) {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern += '%';
}

void checkPath(std::string_view path) {
  if (path.empty() || path.front() != '/') refuse(path, "a path begins with a slash");
  if (path.size() > kMaxPath) refuse(path, "a path has at most 1024 bytes");
  if (path == "/") return;
  if (path.back() == '/') refuse(path, "a path does not end with a slash");
  if (hasControl(path)) refuse("path", "a path holds no control characters");
  for (auto rest = path.substr(1);;) {
    const auto segment = rest.substr(0, rest.find('/'));
    if (segment.empty() || segment == "." || segment == "..")
      refuse(path, "a segment of a path is not empty, \".\" or \"..\"");
    if (segment.starts_with("@@")) refuse(path, "a segment that begins with @@ names a view");
    if (segment.size() == rest.size()) return;
    rest.remove_prefix(segment.size() + 1);
  }
}

void checkObject(const Object& object) {
  checkPath(object.path);
  if (object.type.empty()) refuse(object.path, "an object has a type");
  if (object.body.size() > kMaxBody) refuse(object.path, "a body has at most 64 MB");
  const auto type = object.properties.root().type();
  if (type != Node::Type::null && type != Node::Type::map)
    refuse(object.path, "properties are a map");
  if (object.tags.size() > kMaxTags) refuse(object.path, "an object has at most 64 tags");
  for (const auto& tag : object.tags) {
    if (tag.empty() || tag.size() > kMaxTag || hasControl(tag))
      refuse(object.path, "a tag has 1 to 200 bytes and no control characters");
  }
}

}  // namespace larder::site
