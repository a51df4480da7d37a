#include "larder/site/app_definition.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <utility>

#include "app_names.h"
#include "larder/cache/suggest.h"

namespace larder::site {
namespace {

/// The definition for the type, else the one for every type.
template <class Definition>
const Definition* findBest(const std::vector<Definition>& all, std::string_view name,
                           std::string_view type) {
  const Definition* best = nullptr;
  for (const Definition& definition : all) {
    if (definition.name != name) continue;
    if (definition.type == type) return &definition;
    if (definition.type.empty()) best = &definition;
  }
  return best;
}

template <class Definition>
Definition* findSame(std::vector<Definition>& all, const Definition& like) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const Definition& definition) {
    return definition.name == like.name && definition.type == like.type;
  });
  return it == all.end() ? nullptr : &*it;
}

std::string quoted(std::string_view name, std::string_view type) {
  return "'" + std::string(name) + "'" +
         (type.empty() ? std::string() : " of type '" + std::string(type) + "'");
}

/// "; did you mean ...", from the names of these.
template <class Definition>
std::string nearest(std::string_view name, const std::vector<Definition>& all) {
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const Definition& definition : all) names.push_back(definition.name);
  return didYouMean(name, names);
}

class Builder final : public AppBuilder {
 public:
  Builder(std::uint64_t build_id, std::string_view origin) : build_id_(build_id), origin_(origin) {}

  void schema(int version, std::string_view sql) override {
    app.schema.push_back({version, std::string(sql)});
  }
  void view(std::string_view name, std::string_view type, std::unique_ptr<View> view) override {
    ViewDefinition definition;
    definition.name = name;
    definition.type = type;
    definition.revision = build_id_;
    definition.view = std::move(view);
    definition.origin = origin_;
    if (!definition.view) refuse("view " + quoted(name, type) + " is null");
    if (!isViewName(name)) refuse("view '" + definition.name + "': " + std::string(kViewNameRule));
    if (findSame(app.views, definition) != nullptr)
      refuse("view " + quoted(name, type) + " is defined twice");
    app.views.push_back(std::move(definition));
  }
  void action(std::string_view name, std::string_view type,
              std::unique_ptr<Action> action) override {
    ActionDefinition definition{
        std::string(name), std::string(type), {}, std::move(action), origin_};
    if (!definition.action) refuse("action " + quoted(name, type) + " is null");
    if (!isViewName(name))
      refuse("action '" + definition.name + "': " + std::string(kViewNameRule));
    if (findSame(app.actions, definition) != nullptr)
      refuse("action " + quoted(name, type) + " is defined twice");
    app.actions.push_back(std::move(definition));
  }
  void route(std::string_view method, std::string_view pattern, std::string_view name) override {
    if (!isMethod(method))
      refuse("route " + std::string(pattern) + ": '" + std::string(method) + "' is no method");
    if (const auto problem = patternProblem(pattern))
      refuse("route '" + std::string(pattern) + "': " + *problem);
    app.routes.push_back({std::string(method), std::string(pattern), std::string(name), origin_});
  }
  void type(std::string_view name, std::string_view default_view) override {
    if (app.findType(name) != nullptr) refuse("type '" + std::string(name) + "' is defined twice");
    app.types.push_back({std::string(name), std::string(default_view), origin_});
  }

  AppDefinition app;

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw std::invalid_argument(what); }

  std::uint64_t build_id_;
  std::string origin_;
};

}  // namespace

std::string_view viewKindName(ViewKind kind) noexcept {
  switch (kind) {
    case ViewKind::native:
      return "native";
    case ViewKind::templated:
      return "template";
    case ViewKind::script:
      return "script";
    case ViewKind::sql:
      return "sql";
  }
  return "unknown";
}

const ViewDefinition* AppDefinition::findView(std::string_view name, std::string_view type) const {
  return findBest(views, name, type);
}

const ActionDefinition* AppDefinition::findAction(std::string_view name,
                                                  std::string_view type) const {
  return findBest(actions, name, type);
}

const TypeDefinition* AppDefinition::findType(std::string_view name) const {
  const auto it = std::find_if(types.begin(), types.end(),
                               [&](const TypeDefinition& type) { return type.name == name; });
  return it == types.end() ? nullptr : &*it;
}

Result<> AppDefinition::addNative(AppDefinition native) {
  for (ViewDefinition& view : native.views) {
    ViewDefinition* declared = findSame(views, view);
    if (declared == nullptr) {
      views.push_back(std::move(view));
    } else if (declared->kind == ViewKind::native && !declared->view) {
      declared->view = std::move(view.view);
      declared->revision = view.revision;
    } else {
      return Error{declared->origin + ": view " + quoted(view.name, view.type) +
                   " is also defined by " + view.origin};
    }
  }
  for (ActionDefinition& action : native.actions) {
    ActionDefinition* declared = findSame(actions, action);
    if (declared == nullptr) {
      actions.push_back(std::move(action));
    } else if (!declared->action) {
      declared->action = std::move(action.action);
    } else {
      return Error{declared->origin + ": action " + quoted(action.name, action.type) +
                   " is also defined by " + action.origin};
    }
  }
  for (TypeDefinition& type : native.types) {
    if (const TypeDefinition* declared = findType(type.name))
      return Error{declared->origin + ": type '" + type.name + "' is also defined by " +
                   type.origin};
    types.push_back(std::move(type));
  }
  std::move(native.routes.begin(), native.routes.end(), std::back_inserter(routes));
  std::move(native.schema.begin(), native.schema.end(), std::back_inserter(schema));
  return check();
}

Result<> AppDefinition::check() const {
  for (const ViewDefinition& view : views) {
    const std::string who = view.origin + ": view " + quoted(view.name, view.type);
    if (!view.view) {
      return Error{who + (library.empty() ? " is native, but the app names no library"
                                          : " is not in the library '" + library + "'")};
    }
    if (!view.type.empty() && findType(view.type) == nullptr)
      return Error{who + ": there is no such type" + nearest(view.type, types)};
    const auto missing =
        std::find_if(view.uses.begin(), view.uses.end(),
                     [&](const std::string& used) { return findView(used, view.type) == nullptr; });
    if (missing != view.uses.end())
      return Error{who + " uses the view '" + *missing + "', which is not defined" +
                   nearest(*missing, views)};
  }
  for (const ActionDefinition& action : actions) {
    const std::string who = action.origin + ": action " + quoted(action.name, action.type);
    if (!action.action) {
      return Error{who + (library.empty() ? " needs a library, and the app names none"
                                          : " is not in the library '" + library + "'")};
    }
    if (!action.type.empty() && findType(action.type) == nullptr)
      return Error{who + ": there is no such type" + nearest(action.type, types)};
    // The form is guarded, what it sends to would not be.
    const auto form = std::find_if(views.begin(), views.end(), [&](const ViewDefinition& view) {
      return view.name == action.name && !view.permission.empty() &&
             (view.type == action.type || view.type.empty() || action.type.empty());
    });
    if (form != views.end() && action.permission.empty())
      return Error{who + " needs no permission, but the view of this name needs '" +
                   form->permission + "'; give it one in app.toml, under [[action]]"};
  }
  for (const TypeDefinition& type : types) {
    if (findView(type.default_view, type.name) == nullptr)
      return Error{type.origin + ": type '" + type.name + "' has the default view '" +
                   type.default_view + "', which is not defined for it" +
                   nearest(type.default_view, views)};
    if (findView(type.default_view, type.name)->internal)
      return Error{type.origin + ": type '" + type.name + "' has the default view '" +
                   type.default_view + "', which is internal"};
  }
  for (const RouteDefinition& route : routes) {
    const bool reads = route.method == "GET";
    const bool found =
        reads ? findView(route.name, {}) != nullptr : findAction(route.name, {}) != nullptr;
    if (!found)
      return Error{route.origin + ": route " + route.method + " " + route.pattern + " names the " +
                   (reads ? "view" : "action") + " '" + route.name +
                   "', which is not defined for routes" +
                   (reads ? nearest(route.name, views) : nearest(route.name, actions))};
    if (reads && findView(route.name, {})->internal)
      return Error{route.origin + ": route " + route.pattern + " names the view '" + route.name +
                   "', which is internal"};
  }
  int version = 0;
  for (const SchemaStep& step : schema) {
    if (step.version != ++version)
      return Error{(library.empty() ? std::string("the app") : library) + ": schema version " +
                   std::to_string(step.version) + " where " + std::to_string(version) +
                   " is expected; versions begin at 1 and have no gaps"};
  }
  return Done{};
}

Result<AppDefinition> defineApp(App& app, std::uint64_t build_id, std::string_view origin) {
  Builder builder(build_id, origin);
  const std::string where = std::string(origin) + ": ";
  try {
    app.define(builder);
  } catch (const std::exception& error) {
    return Error{where + error.what()};
  } catch (...) {
    return Error{where + "define() threw something that is no std::exception"};
  }
  return std::move(builder.app);
}

}  // namespace larder::site
