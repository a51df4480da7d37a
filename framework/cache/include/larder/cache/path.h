// Canonical paths: the one place where a request's path is decoded.
//
// Routing, authorisation, cache keys, invalidation, publishing and the log all use the form made
// here, so that two spellings of one path can never be two objects, nor one spelling two.
//
//   std::string scratch;
//   cache::CanonicalPath p = cache::canonicalPath("/p/%C3%A9/@@edit", scratch);
//   // p.status == PathStatus::ok, p.object == "/p/\u00e9", p.view == "edit"
//
// Rules
// - percent escapes are decoded exactly once: "%2541" is the text "%41";
// - empty and dot segments are resolved after decoding (RFC 3986, 5.2.4 and 6.2.2);
// - a malformed escape, a NUL, invalid UTF-8, or a climb above the root is bad (400);
// - an encoded slash is never a slash: such a path names nothing (404);
// - a trailing slash is redirected to the form without it;
// - a last segment "@@name" asks for the view `name` of the object before it; anywhere else a
//   segment that begins with "@@" names nothing (404).
//
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace larder::cache {

enum class PathStatus {
  ok,
  redirect,  // the object is at `full`, which has no trailing slash
  notFound,  // well formed, but can name no object
  bad,       // malformed
};

// The views point into the raw path or into the scratch string given to canonicalPath: they live as
// long as both do, and the scratch string is not touched.
struct CanonicalPath {
  PathStatus status = PathStatus::bad;
  std::string_view full;     // "/a/b/@@edit"; begins with one slash, never ends with one but as "/"
  std::string_view object;   // "/a/b"
  std::string_view view;     // "edit"; empty means the type's default view
  std::string_view problem;  // static text that says what is wrong, for notFound and bad
};

// `rawPath` is the path of a request target, before '?'. A plain path (ASCII, no escape, no empty
// or dot segment, no trailing slash) is returned as it stands and `scratch` is left alone;
// otherwise the canonical form is written to `scratch`.
CanonicalPath canonicalPath(std::string_view rawPath, std::string& scratch);

}  // namespace larder::cache
