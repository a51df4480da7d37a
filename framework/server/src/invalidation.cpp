// Invalidation by hand: from JSON or the command line's notation to changes of the ledger.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "larder/cache/path.h"
#include "larder/cache/suggest.h"
#include "larder/server/management.h"

namespace larder::server {
namespace {

using nlohmann::json;

/// "/p/%C3%A9" and "/p/é" are one path.
Result<std::string> canonical(std::string_view path) {
  std::string raw;
  for (const char c : path) {
    // Bytes that no request line carries are written out, so that raw text is understood as well.
    const auto byte = static_cast<unsigned char>(c);
    constexpr std::string_view kHex = "0123456789ABCDEF";
    if (byte <= 0x20 || byte == '?' || byte == '#')
      (raw += '%') += {kHex[byte >> 4], kHex[byte & 15]};
    else
      raw += c;
  }
  std::string scratch;
  const cache::CanonicalPath result = cache::canonicalPath(raw, scratch);
  if (result.status == cache::PathStatus::bad || result.status == cache::PathStatus::notFound)
    return Error{"'" + std::string(path) +
                 "' is not a path of a site: " + std::string(result.problem)};
  if (!result.view.empty())
    return Error{"'" + std::string(path) + "' names a view; give the view apart"};
  return std::string(result.full);
}

class Request {
 public:
  explicit Request(const json& object) : object_(object) {}

  Result<std::vector<Change>> read() {
    if (!object_.is_object()) return Error{"the body must be one JSON object"};
    for (const auto& [name, value] : object_.items()) {
      if (std::ranges::find(kNames, name) == kNames.end())
        return Error{"unknown member '" + name + "'" + didYouMean(name, kNames)};
      const bool right = name == "site" ? value == true : value.is_string() && !value.empty();
      if (!right || (value.is_string() && value.get_ref<const std::string&>().empty()))
        return Error{"member '" + name + "' must be " +
                     (name == "site" ? "true" : "a text that is not empty")};
    }
    const auto hardness = text("hardness");
    if (!hardness.empty() && hardness != "hard" && hardness != "soft")
      return Error{"member 'hardness' must be \"hard\" or \"soft\""};
    auto scope = readScope();
    if (!scope) return scope.error();
    return std::vector<Change>{
        {std::move(*scope), hardness == "soft" ? Hardness::soft : Hardness::hard}};
  }

 private:
  static constexpr std::array<std::string_view, 9> kNames = {
      "path", "view", "subtree", "tag", "table", "manager", "at", "site", "hardness"};
  static constexpr std::array<std::string_view, 6> kKinds = {"path",  "subtree", "tag",
                                                             "table", "manager", "site"};

  Result<std::string> readScope() {
    std::string_view kind;
    for (const std::string_view candidate : kKinds) {
      if (!object_.contains(candidate)) continue;
      if (!kind.empty())
        return Error{"say one thing: '" + std::string(kind) + "' and '" + std::string(candidate) +
                     "' are both given"};
      kind = candidate;
    }
    if (kind.empty())
      return Error{"say what to invalidate: path, subtree, tag, table, manager or site"};
    if (object_.contains("view") && kind != "path") return Error{"'view' goes with 'path' only"};
    if (object_.contains("at") && kind != "manager") return Error{"'at' goes with 'manager' only"};
    if (kind == "site") return std::string(kSiteScope);
    if (kind == "tag") return tagScope(text("tag"));
    if (kind == "table") return tableScope(text("table"));
    const std::string at = text("at");
    const auto path = canonical(kind == "manager" ? (at.empty() ? "/" : at) : text(kind));
    if (!path) return path.error();
    if (kind == "manager") return managerScope(*path, text("manager"));
    if (kind == "subtree") return subtreeScope(*path);
    return object_.contains("view") ? viewScope(text("view"), *path) : objectScope(*path);
  }

  [[nodiscard]] std::string text(std::string_view name) const {
    const auto it = object_.find(name);
    return it == object_.end() ? std::string() : it->get<std::string>();
  }

  const json& object_;
};

}  // namespace

Result<std::vector<Change>> parseInvalidation(std::string_view text) {
  const json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return Error{"the body is not JSON"};
  return Request(parsed).read();
}

Result<std::string> invalidationBody(std::string_view target, bool soft) {
  json object = json::object();
  if (soft) object["hardness"] = "soft";
  const auto rest = [&](std::string_view prefix) {
    return std::string(target.substr(prefix.size()));
  };
  if (target == "site") {
    object["site"] = true;
  } else if (target.starts_with("tag:")) {
    object["tag"] = rest("tag:");
  } else if (target.starts_with("table:")) {
    object["table"] = rest("table:");
  } else if (target.starts_with("manager:")) {
    const std::string named = rest("manager:");
    const auto colon = named.rfind(':');
    if (named.starts_with('/') && colon != std::string::npos) {
      object["at"] = named.substr(0, colon);
      object["manager"] = named.substr(colon + 1);
    } else {
      object["manager"] = named;
    }
  } else if (target.starts_with('/')) {
    const auto view = target.rfind("/@@");
    if (target == "/**") {
      object["subtree"] = "/";
    } else if (target.ends_with("/**")) {
      object["subtree"] = target.substr(0, target.size() - 3);
    } else if (view != std::string_view::npos) {
      object["path"] = view == 0 ? "/" : target.substr(0, view);
      object["view"] = target.substr(view + 3);
    } else {
      object["path"] = target;
    }
  } else {
    return Error{"'" + std::string(target) +
                 "' cannot be invalidated; write /path, /path/@@view, /path/**, tag:NAME, "
                 "table:NAME, manager:ID or site"};
  }
  if (const auto changes = Request(object).read(); !changes) return changes.error();
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace larder::server
