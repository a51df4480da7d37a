#include "larder/cache/path.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "percent.h"

namespace larder::cache {
namespace {

CanonicalPath refused(PathStatus status, std::string_view problem) {
  CanonicalPath path;
  path.status = status;
  path.problem = problem;
  return path;
}

// True when `raw` is already in canonical form. May say false for a path that is: then the general
// way finds out.
bool isPlain(std::string_view raw) {
  if (raw.empty() || raw.front() != '/') return false;
  if (raw.size() == 1) return true;
  if (raw.back() == '/') return false;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto c = static_cast<unsigned char>(raw[i]);
    if (c <= 0x20 || c >= 0x7F || c == '%') return false;
    // raw.back() is no slash, so there is a next byte.
    if (c == '/' && (raw[i + 1] == '/' || raw[i + 1] == '.')) return false;
  }
  return true;
}

// Splits the view off a canonical path and refuses "@@" in any other place.
CanonicalPath split(std::string_view full, PathStatus status) {
  CanonicalPath path;
  path.status = status;
  path.full = full;
  path.object = full;
  const std::size_t marker = full.find("/@@");
  if (marker == std::string_view::npos) return path;
  path.view = full.substr(marker + 3);
  path.object = marker == 0 ? std::string_view("/") : full.substr(0, marker);
  if (path.view.empty()) return refused(PathStatus::notFound, "a view without a name");
  if (path.view.find('/') != std::string_view::npos) {
    return refused(PathStatus::notFound, "a view's name is the last segment of a path");
  }
  return path;
}

// Resolves empty and dot segments in place. Returns false when the path climbs above the root.
// `trailing` is set when the path ends in a slash, or in a dot segment, which means the same.
bool resolveSegments(std::string& path, bool& trailing) {
  std::size_t written = 0;
  std::size_t read = 0;
  while (read < path.size()) {
    // path[read] is a slash here; the segment follows it.
    std::size_t end = path.find('/', read + 1);
    if (end == std::string::npos) end = path.size();
    const std::string_view segment(path.data() + read + 1, end - read - 1);
    trailing = segment.empty() || segment == "." || segment == "..";
    if (segment == "..") {
      if (written == 0) return false;
      written = path.rfind('/', written - 1);
    } else if (!trailing) {
      std::memmove(path.data() + written, path.data() + read, end - read);
      written += end - read;
    }
    read = end;
  }
  path.resize(written);
  if (path.empty()) {
    path = "/";
    trailing = false;
  }
  return true;
}

}  // namespace

CanonicalPath canonicalPath(std::string_view rawPath, std::string& scratch) {
  if (isPlain(rawPath)) return split(rawPath, PathStatus::ok);
  if (rawPath.empty() || rawPath.front() != '/') {
    return refused(PathStatus::bad, "a path begins with a slash");
  }

  scratch.clear();
  scratch.reserve(rawPath.size());
  bool encodedSlash = false;
  for (std::size_t i = 0; i < rawPath.size(); ++i) {
    char c = rawPath[i];
    if (c == '%') {
      const int byte = detail::escapedByte(rawPath, i);
      if (byte < 0) return refused(PathStatus::bad, "a malformed percent escape in the path");
      c = static_cast<char>(byte);
      encodedSlash |= c == '/';
      i += 2;
    }
    if (c == '\0') return refused(PathStatus::bad, "a NUL in the path");
    scratch.push_back(c);
  }
  if (!detail::isUtf8(scratch)) return refused(PathStatus::bad, "the path is not UTF-8");
  if (encodedSlash) return refused(PathStatus::notFound, "an encoded slash in the path");

  bool trailing = false;
  if (!resolveSegments(scratch, trailing)) {
    return refused(PathStatus::bad, "the path climbs above the root");
  }
  return split(scratch, trailing ? PathStatus::redirect : PathStatus::ok);
}

}  // namespace larder::cache
