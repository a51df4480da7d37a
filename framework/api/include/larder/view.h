// What a view sees: the request, the content and the other views. Every read goes through these
// interfaces, which record it: what a view reads becomes part of what its result depends on, and of
// the key it is stored under. Nothing else has to be declared.
//
//   larder::Value CommentView::render(larder::RenderContext& ctx) {
//     auto row = ctx.row("comment", ctx.pathVariable("id"));
//     ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/clock.h"
#include "larder/document.h"
#include "larder/value.h"

namespace larder {

/// A content object as the snapshot of the render holds it.
struct Object {
  std::string path;  ///< canonical: "/handbook/linux/dpkg"
  std::string name;  ///< last segment
  std::string type;
  std::string title;
  std::string body;
  Document properties;  ///< a map
  std::vector<std::string> tags;
  std::int64_t revision = 0;
  Millis created = 0;   ///< wall clock
  Millis modified = 0;  ///< wall clock
  std::string manager;  ///< id of the cache manager associated with it, or empty
};
using ObjectPtr = std::shared_ptr<const Object>;

struct ChildrenQuery {
  std::string type;           ///< only this type, or all
  std::string sort = "name";  ///< name, title, created, modified
  bool descending = false;
  std::string title_contains;  ///< case-insensitive filter, or none
  std::size_t offset = 0;
  std::size_t limit = 100;  ///< at most 1000
};

struct User {
  std::int64_t id = 0;
  std::string login;
  std::string name;
  std::vector<std::string> roles;  ///< sorted
};

/// A named argument of a SQL method or a positional one of a call.
using Arguments = std::vector<std::pair<std::string, Tree>>;

/// What one statement may cost; more is an error.
struct QueryLimits {
  std::size_t rows = 1'000;
  Millis time = 2'000;  ///< ms
};

/// Thrown by view code to answer with a status and a message for the visitor (404, 403, 400 ...).
struct HttpError {
  int status;
  std::string message;
};

/// One render. Used by one thread. Throws std::exception with a readable text on failure of the
/// store.
class RenderContext {
 public:
  virtual ~RenderContext() = default;

  // Inputs: reading one makes it part of the key.
  /// First value of a parameter of the query; absent is not empty.
  virtual std::optional<std::string_view> param(std::string_view name) = 0;
  virtual std::vector<std::string_view> paramAll(std::string_view name) = 0;
  /// Every parameter in order: one input, "params".
  virtual std::vector<std::pair<std::string_view, std::string_view>> params() = 0;
  virtual std::optional<std::string_view> header(std::string_view name) = 0;
  virtual std::optional<std::string_view> cookie(std::string_view name) = 0;
  /// Scheme and host of the request: "http://example.org".
  virtual std::string_view origin() = 0;
  /// Null for an anonymous visitor. Makes the result private.
  virtual const User* user() = 0;
  /// Whether the visitor has the role; records "roles" only.
  virtual bool hasRole(std::string_view role) = 0;
  virtual std::optional<std::string_view> session(std::string_view name) = 0;
  /// Token that a form must carry back as its field "csrf", bound to the session; empty for a
  /// visitor without one. The result is not stored.
  virtual std::string csrfToken() = 0;
  /// Positional argument of a call from another view; null node when absent.
  virtual const Node& arg(std::size_t index) = 0;
  /// Wall clock. Unless the view has a finite max_age of its own, the result is not stored.
  virtual Millis now() = 0;
  /// The result is not stored.
  virtual std::uint64_t random() = 0;
  /// A segment matched by the route's pattern ("{id}"), or empty. Part of the path, hence no input.
  virtual std::string_view pathVariable(std::string_view name) = 0;
  /// Canonical path of the request's object.
  virtual std::string_view path() = 0;
  virtual std::string_view viewName() = 0;
  /// Canonical path at which the app is mounted: "/handbook". Given by the configuration, hence no
  /// input.
  virtual std::string_view appPath() { return "/"; }

  // Content: reading it makes it a dependency.
  /// The object at `path()`, or null on a route without one.
  virtual ObjectPtr object() = 0;
  /// Null when there is none: that, too, is recorded.
  virtual ObjectPtr open(std::string_view path) = 0;
  virtual std::vector<ObjectPtr> children(std::string_view path, const ChildrenQuery& query) = 0;
  virtual std::size_t countChildren(std::string_view path, const ChildrenQuery& query) = 0;
  /// The row of an app's table whose INTEGER PRIMARY KEY is `id`, as a map; null node when absent.
  /// Row-exact dependency.
  virtual Document row(std::string_view table, std::int64_t id) = 0;
  /// Runs a read-only statement of the app with bound arguments; a list of maps. Depends on the
  /// tables it reads.
  virtual Document query(std::string_view sql, const Arguments& arguments,
                         const QueryLimits& limits = {}) = 0;
  /// A setting acquired from `path()` upwards: the nearest object that has the property; every
  /// level is recorded.
  virtual Document acquire(std::string_view property) = 0;

  // Other views: cached calls of their own; what they depend on becomes a dependency of this one.
  virtual Value call(std::string_view path, std::string_view view,
                     std::span<const Tree> arguments) = 0;
  /// A SQL method of the app by name.
  virtual Document sql(std::string_view name, const Arguments& arguments) = 0;

  // About the result.
  virtual void tag(std::string_view name) = 0;
  /// Fresh no longer than this, ms.
  virtual void maxAge(Millis limit) = 0;
  /// Fresh no longer than until this wall clock time (a publication date).
  virtual void expiresAt(Millis wall) = 0;
  /// Not stored; the reason is counted and shown.
  virtual void noStore(std::string_view reason) = 0;
};

/// A canonical path as it is written in a link or a Location: what a path may not hold is escaped
/// (RFC 3986, 3.3).
[[nodiscard]] std::string urlPath(std::string_view canonical);

/// A native view; shared by all threads, so render() must be thread-safe.
class View {
 public:
  virtual ~View() = default;
  virtual Value render(RenderContext& context) = 0;
};

}  // namespace larder
