#include "larder/site/app_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "app_file.h"
#include "app_names.h"
#include "app_toml.h"
#include "larder/cache/suggest.h"
#include "larder/site/script_view.h"
#include "larder/site/sql_method.h"
#include "larder/site/template_view.h"
#include "parts_hash.h"

namespace larder::site {
namespace {

/// Part of every revision: raise it when the same files make other pages, because escaping, a
/// library for scripts or the like has changed (L14).
constexpr std::string_view kRendering = "1";

using Keys = std::string_view;
constexpr std::array<Keys, 5> kRootKeys = {"library", "type", "view", "route", "action"};
constexpr std::array<Keys, 2> kTypeKeys = {"name", "default_view"};
constexpr std::array<Keys, 16> kViewKeys = {"name",
                                            "for",
                                            "kind",
                                            "file",
                                            "model",
                                            "include",
                                            "internal",
                                            "permission",
                                            "manager",
                                            "max_age",
                                            "stale_while_revalidate",
                                            "stale_if_error",
                                            "request_vars",
                                            "memory",
                                            "steps",
                                            "time"};
constexpr std::array<Keys, 4> kRouteKeys = {"pattern", "view", "action", "method"};
constexpr std::array<Keys, 3> kActionKeys = {"name", "for", "permission"};
constexpr std::array<Keys, 4> kKinds = {"native", "template", "script", "sql"};

/// Pieces with their lengths, so that no two lists of pieces look alike.
class Revision : public PartsHash {
 public:
  Revision() { add(kRendering); }
};

/// Reads one app.toml and what it names. Throws AppTomlError.
class Reader {
 public:
  Reader(const std::string& folder, const Clock& clock, AppFiles& files)
      : folder_(folder), clock_(clock), files_(files) {}

  AppDefinition run() {
    const Result<std::string> text = files_.read(kAppFile);
    if (!text) throw AppTomlError{text.error().message};
    const toml::table root = parse(*text);
    const AppTable top(root, "app", kRootKeys);
    app_.folder = folder_;
    app_.library = top.text("library").value_or("");
    for (const toml::table* table : tablesOf(root, "type")) readType(*table);
    for (const toml::table* table : tablesOf(root, "view")) readView(*table);
    for (const toml::table* table : tablesOf(root, "action")) readAction(*table);
    for (const toml::table* table : tablesOf(root, "route")) readRoute(*table);
    return std::move(app_);
  }

 private:
  static toml::table parse(const std::string& text) {
    try {
      return toml::parse(text, std::string_view(kAppFile));
    } catch (const toml::parse_error& error) {
      throw AppTomlError{placeOf(error.source()) + ": " + std::string(error.description())};
    }
  }

  void readType(const toml::table& table) {
    const AppTable type(table, "type", kTypeKeys);
    TypeDefinition definition{type.required("name"), type.required("default_view"), type.place()};
    if (const TypeDefinition* other = app_.findType(definition.name))
      type.fail(type.place(), "'" + definition.name + "' is defined at " + other->origin + ", too");
    app_.types.push_back(std::move(definition));
  }

  void readAction(const toml::table& table) {
    const AppTable action(table, "action", kActionKeys);
    ActionDefinition definition{action.required("name"), action.text("for").value_or(""),
                                action.text("permission").value_or(""), nullptr, action.place()};
    for (const ActionDefinition& other : app_.actions) {
      if (other.name == definition.name && other.type == definition.type)
        action.fail(action.place(),
                    "'" + definition.name + "' is declared at " + other.origin + ", too");
    }
    app_.actions.push_back(std::move(definition));
  }

  void readRoute(const toml::table& table) {
    const AppTable route(table, "route", kRouteKeys);
    RouteDefinition definition;
    definition.origin = route.place();
    definition.pattern = route.required("pattern");
    if (const auto problem = patternProblem(definition.pattern))
      route.fail(route.place("pattern"), "'" + definition.pattern + "': " + *problem);
    if (route.has("view") == route.has("action"))
      route.fail(route.place(), "names either a view or an action");
    const bool reads = route.has("view");
    definition.name = route.required(reads ? "view" : "action");
    definition.method = route.text("method").value_or(reads ? "GET" : "POST");
    if (!isMethod(definition.method))
      route.fail(route.place("method"), "'" + definition.method + "' is no method");
    if (reads != (definition.method == "GET"))
      route.fail(route.place("method"), reads ? "a view answers GET (and HEAD) only"
                                              : "an action does not answer GET; a view does");
    app_.routes.push_back(std::move(definition));
  }

  void readView(const toml::table& table) {
    const AppTable view(table, "view", kViewKeys);
    ViewDefinition definition;
    definition.origin = view.place();
    definition.name = view.required("name");
    if (!isViewName(definition.name))
      view.fail(view.place("name"), "'" + definition.name + "': " + std::string(kViewNameRule));
    definition.type = view.text("for").value_or("");
    for (const ViewDefinition& other : app_.views) {
      if (other.name == definition.name && other.type == definition.type)
        view.fail(view.place("name"),
                  "'" + definition.name + "' is defined at " + other.origin + ", too");
    }
    const std::string kind = view.required("kind");
    const auto known = std::find(kKinds.begin(), kKinds.end(), kind);
    if (known == kKinds.end())
      view.fail(view.place("kind"), "unknown kind '" + kind + "'" + didYouMean(kind, kKinds));
    definition.kind = static_cast<ViewKind>(known - kKinds.begin());
    definition.permission = view.text("permission").value_or("");
    definition.internal = view.truth("internal").value_or(false);
    readCaching(view, definition.caching);

    if (definition.kind != ViewKind::templated) {
      for (const Keys key : {"model", "include"}) view.refuse(key, "is for templates");
    }
    if (definition.kind != ViewKind::script) {
      for (const Keys key : {"memory", "steps", "time"}) view.refuse(key, "is for scripts");
    }
    switch (definition.kind) {
      case ViewKind::native:
        view.refuse("file", "is not for native views");
        break;
      case ViewKind::templated:
        readTemplate(view, definition);
        break;
      case ViewKind::script:
        readScript(view, definition);
        break;
      case ViewKind::sql:
        readSql(view, definition);
        break;
    }
    app_.views.push_back(std::move(definition));
  }

  static void readCaching(const AppTable& view, ViewCaching& caching) {
    caching.manager = view.text("manager").value_or("");
    caching.max_age = view.duration("max_age");
    caching.stale_while_revalidate = view.duration("stale_while_revalidate");
    caching.stale_if_error = view.duration("stale_if_error");
    caching.request_vars = view.texts("request_vars");
    std::sort(caching.request_vars.begin(), caching.request_vars.end());
  }

  void readTemplate(const AppTable& view, ViewDefinition& definition) {
    TemplateSource source;
    source.file = view.required("file");
    source.model = view.text("model").value_or("");
    source.includes = view.pairs("include");
    Result<LoadedTemplate> loaded =
        loadTemplateView(source, [this](const std::string& file) { return files_.read(file); });
    if (!loaded) failInFile(view, loaded.error());
    Revision revision;
    revision.add("template");
    revision.add(source.model);
    if (!source.model.empty()) definition.uses.push_back(source.model);
    for (const auto& [marker, used] : source.includes) {
      revision.add(marker);
      revision.add(used);
      definition.uses.push_back(used);
    }
    revision.add(loaded->text);
    definition.revision = revision.value();
    definition.view = std::move(loaded->view);
    for (const std::string& file : loaded->files) addFile(definition, file);
  }

  void readScript(const AppTable& view, ViewDefinition& definition) {
    ScriptSource source;
    source.name = view.required("file");
    source.text = readFile(view, source.name);
    if (const auto memory = view.size("memory")) source.limits.memory = *memory;
    if (const auto steps = view.number("steps"))
      source.limits.steps = static_cast<std::uint64_t>(*steps);
    if (const auto time = view.duration("time")) source.limits.time = *time;
    if (source.limits.memory < std::size_t{256} * 1024)
      view.fail(view.place("memory"), "'memory' has to be at least \"256K\"");
    if (source.limits.time == 0) view.fail(view.place("time"), "'time' has to be at least \"1ms\"");
    Revision revision;
    revision.add("script");
    revision.add(source.text);
    definition.revision = revision.value();
    addFile(definition, source.name);
    Result<std::shared_ptr<View>> made = makeScriptView(std::move(source), clock_);
    if (!made) failInFile(view, made.error());
    definition.view = std::move(*made);
  }

  void readSql(const AppTable& view, ViewDefinition& definition) {
    SqlSource source;
    source.name = view.required("file");
    source.text = readFile(view, source.name);
    Revision revision;
    revision.add("sql");
    revision.add(source.text);
    definition.revision = revision.value();
    addFile(definition, source.name);
    Result<std::shared_ptr<View>> made = makeSqlMethod(std::move(source));
    if (!made) failInFile(view, made.error());
    definition.view = std::move(*made);
  }

  std::string readFile(const AppTable& view, const std::string& file) {
    Result<std::string> text = files_.read(file);
    if (!text) failInFile(view, text.error());
    return std::move(*text);
  }

  /// What is wrong in a view's file says where itself; a file that is not there is app.toml's
  /// fault.
  [[noreturn]] static void failInFile(const AppTable& view, const Error& error) {
    const std::size_t colon = error.message.find(':');
    const bool has_line = colon != std::string::npos && colon + 1 < error.message.size() &&
                          error.message[colon + 1] >= '0' && error.message[colon + 1] <= '9';
    if (has_line) throw AppTomlError{error.message};
    view.fail(view.place("file"), error.message);
  }

  void addFile(ViewDefinition& definition, const std::string& file) const {
    definition.files.push_back((std::filesystem::path(folder_) / file).lexically_normal());
  }

  const std::string& folder_;
  const Clock& clock_;
  AppFiles& files_;
  AppDefinition app_;
};

}  // namespace

AppFolder::AppFolder(const std::string& folder, const Clock& clock)
    : folder_(std::filesystem::absolute(folder).lexically_normal().string()), clock_(clock) {
  if (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
}

AppFolder::~AppFolder() = default;

Result<AppDefinition> AppFolder::load() {
  AppFiles files(folder_);
  const auto fault = [&](const std::string& message) { return Error{folder_ + "/" + message}; };
  std::optional<AppDefinition> app;
  std::string error;
  try {
    app = Reader(folder_, clock_, files).run();
  } catch (const AppTomlError& failure) {
    error = failure.message;
  }
  seen_ = files.seen();
  if (!app) return fault(error);
  if (app->library.empty()) {
    if (auto fits = app->check(); !fits) return fault(fits.error().message);
  }
  return *std::move(app);
}

bool AppFolder::changed() {
  return std::any_of(seen_.begin(), seen_.end(), [](SeenFile& file) { return file.changed(); });
}

}  // namespace larder::site
