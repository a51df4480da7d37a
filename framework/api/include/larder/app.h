// App: a hosted application in C++, loaded like a plugin. It defines views, actions, types, routes
// and its tables.
//
//   class Comments final : public larder::App {
//     void define(larder::AppBuilder& app) override {
//       app.schema(1, "CREATE TABLE comment(id INTEGER PRIMARY KEY, ...)");
//       app.view("comment", std::make_unique<CommentView>());
//       app.route("GET", "/comments/{id}", "comment");
//     }
//   };
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "larder/plugin.h"
#include "larder/result.h"
#include "larder/view.h"

namespace larder {

/// One write transaction on content and app tables. What it changes is recorded in the ledger by
/// the same commit. Used by one thread. Functions throw std::exception (conflict: EditConflict) and
/// the transaction rolls back.
class Edit {
 public:
  virtual ~Edit() = default;
  /// The object as it is inside the transaction, or null.
  virtual ObjectPtr open(std::string_view path) = 0;
  /// The parent must exist; the path must not.
  virtual void create(const Object& object) = 0;
  /// Stores type, title, body, properties, tags and manager of `object`; `expected_revision` 0
  /// skips the check.
  virtual void update(const Object& object, std::int64_t expected_revision) = 0;
  /// With everything below it.
  virtual void remove(std::string_view path) = 0;
  virtual void move(std::string_view from, std::string_view to) = 0;
  /// A statement on the app's tables with bound arguments; rows as a list of maps (RETURNING).
  virtual Document execute(std::string_view sql, const Arguments& arguments) = 0;
  virtual std::int64_t lastInsertId() = 0;
  /// Invalidates a tag with the commit.
  virtual void invalidateTag(std::string_view tag) = 0;
};

/// Somebody else changed the object since the revision that the edit was based on.
struct EditConflict {
  std::string path;
  std::int64_t expected;
  std::int64_t actual;
};

/// What an acknowledged edit returns: every request that starts later sees it.
struct Receipt {
  std::uint64_t era = 0;
  std::uint64_t seq = 0;
};

/// A request that changes something. Never cached.
class ActionContext : public RenderContext {
 public:
  [[nodiscard]] virtual std::string_view method() const = 0;
  [[nodiscard]] virtual std::string_view body() const = 0;
  [[nodiscard]] virtual std::string_view contentType() const = 0;
  /// First value of a field of an application/x-www-form-urlencoded body.
  [[nodiscard]] virtual std::optional<std::string_view> form(std::string_view name) = 0;
  /// Runs `work` in one write transaction and commits; throws what it throws after rolling back.
  virtual Receipt edit(const std::function<void(Edit&)>& work) = 0;
  /// Throws HttpError 403 unless the form field "csrf" carries the session's token and Origin, if
  /// sent, is ours.
  virtual void requireCsrf() = 0;
  /// Checks name and password (argon2id, throttled) and starts a session; false when refused.
  virtual bool logIn(std::string_view login, std::string_view password) = 0;
  virtual void logOut() = 0;
};

class Action {
 public:
  virtual ~Action() = default;
  virtual Page run(ActionContext& context) = 0;
};

/// Lives during App::define() only.
class AppBuilder {
 public:
  virtual ~AppBuilder() = default;
  /// Statements that bring the app's tables from version - 1 to `version`; versions start at 1 and
  /// have no gaps. Run once, in one transaction; ledger triggers are installed by the host.
  virtual void schema(int version, std::string_view sql) = 0;
  /// `type` empty: for every object and for routes.
  virtual void view(std::string_view name, std::string_view type, std::unique_ptr<View> view) = 0;
  virtual void action(std::string_view name, std::string_view type,
                      std::unique_ptr<Action> action) = 0;
  /// `pattern` below the app's mount: literal segments and {name}. Answers GET and HEAD with a
  /// view, other methods with an action of that name.
  virtual void route(std::string_view method, std::string_view pattern, std::string_view name) = 0;
  virtual void type(std::string_view name, std::string_view default_view) = 0;
};

class App {
 public:
  virtual ~App() = default;
  virtual void define(AppBuilder& builder) = 0;
};

}  // namespace larder

#define LARDER_APP_MODULE(Class, name, version_text)                         \
  extern "C" __attribute__((visibility("default"))) const larder_descriptor* \
  larder_plugin_descriptor() {                                               \
    static const larder_descriptor kDescriptor = {                           \
        sizeof(larder_descriptor),                                           \
        LARDER_ABI_MAJOR,                                                    \
        LARDER_ABI_MINOR,                                                    \
        LARDER_FINGERPRINT,                                                  \
        name,                                                                \
        version_text,                                                        \
        LARDER_APP,                                                          \
        0,                                                                   \
        nullptr,                                                             \
        0,                                                                   \
        [](larder::Host&, const larder::Settings&) -> void* {                \
          return static_cast<larder::App*>(new Class);                       \
        },                                                                   \
        [](void* instance) { delete static_cast<larder::App*>(instance); }}; \
    return &kDescriptor;                                                     \
  }
