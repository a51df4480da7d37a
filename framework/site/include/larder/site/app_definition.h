// AppDefinition: what a hosted app consists of, whether a folder (app.toml, templates, scripts,
// SQL methods) or a library (larder::App) says so. Both yield the same structs; the site serves
// from them.
//
//   Result<AppDefinition> files = folder.load();
//   Result<AppDefinition> native = defineApp(library_app, build_id);
//   Result<> merged = files->addNative(std::move(*native));
//   const ViewDefinition* page = files->findView("page", object->type);
//
// Built by one thread, then shared immutable (std::shared_ptr<const AppDefinition>): a reload makes
// a new one, and requests that run keep theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/app.h"
#include "larder/clock.h"
#include "larder/result.h"
#include "larder/site/store.h"
#include "larder/view.h"

namespace larder::site {

enum class ViewKind : std::uint8_t { native, templated, script, sql };
/// As app.toml spells it: "native", "template", "script", "sql".
[[nodiscard]] std::string_view viewKindName(ViewKind kind) noexcept;

/// What a view says about its own caching; a rule of the configuration says more, and wins.
struct ViewCaching {
  std::string manager;            ///< id, resolved by acquisition; "none" disables; empty: default
  std::optional<Millis> max_age;  ///< 0: not stored; kForever
  std::optional<Millis> stale_while_revalidate;
  std::optional<Millis> stale_if_error;
  std::vector<std::string> request_vars;  ///< sorted; not empty: only these enter the key
};

struct ViewDefinition {
  std::string name;
  std::string type;  ///< of the objects it is for; empty: every object, and routes
  ViewKind kind = ViewKind::native;
  /// Role that the visitor needs; empty: everybody may.
  std::string permission;
  /// Only other views may call it: over HTTP it is not there.
  bool internal = false;
  /// Changes whenever the code or a setting that matters changes: part of the key (L14).
  std::uint64_t revision = 0;
  /// Shared by all threads. Null only in a folder's definition whose library is not yet added.
  std::shared_ptr<View> view;
  ViewCaching caching;
  /// Views that it calls and that check() can know of: a template's model and includes.
  std::vector<std::string> uses;
  /// Absolute paths of the files it was made from: its own first, then what that includes.
  std::vector<std::string> files;
  /// Where it is defined, for messages: "app.toml:12" or the library's name.
  std::string origin;
};

struct ActionDefinition {
  std::string name;
  std::string type;  ///< empty: every object, and routes
  std::string permission;
  std::shared_ptr<Action> action;
  std::string origin;
};

/// Answers GET and HEAD with the view `name`, other methods with the action of that name.
struct RouteDefinition {
  std::string method;   ///< upper case
  std::string pattern;  ///< below the app's mount: "/comments/{id}"
  std::string name;
  std::string origin;
};

struct TypeDefinition {
  std::string name;
  std::string default_view;
  std::string origin;
};

struct AppDefinition {
  std::string folder;   ///< absolute; empty for an app that is a library only
  std::string library;  ///< as app.toml names it; empty: none
  std::vector<ViewDefinition> views;
  std::vector<ActionDefinition> actions;
  std::vector<RouteDefinition> routes;  ///< in order: the first that matches answers
  std::vector<TypeDefinition> types;
  std::vector<SchemaStep> schema;  ///< versions 1, 2, 3 ...

  /// The view for objects of `type`, else the one for every object; null when there is none.
  [[nodiscard]] const ViewDefinition* findView(std::string_view name, std::string_view type) const;
  [[nodiscard]] const ActionDefinition* findAction(std::string_view name,
                                                   std::string_view type) const;
  [[nodiscard]] const TypeDefinition* findType(std::string_view name) const;

  /// Adds what the app's library defines, then check(). A view that the folder declares with kind
  /// "native", or an action that it declares, keeps its permission and caching and gets the
  /// library's code. The library's routes come after the folder's. An error names both places: a
  /// view, action or type defined twice, a declared view that the library lacks.
  [[nodiscard]] Result<> addNative(AppDefinition native);
  /// Whether it fits together: every view has code, every name that types, routes and templates
  /// mention is defined, schema versions have no gaps.
  [[nodiscard]] Result<> check() const;
};

/// Runs define() and collects what it registers. `build_id` is the revision of its views; `origin`
/// names the library in messages. An exception of define() becomes an error.
[[nodiscard]] Result<AppDefinition> defineApp(App& app, std::uint64_t build_id,
                                              std::string_view origin);

}  // namespace larder::site
