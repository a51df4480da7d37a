// A render context whose content is set by the test, and which notes what is read of it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/view.h"

namespace larder::site::test {

class FakeContext : public RenderContext {
 public:
  std::vector<std::pair<std::string, std::string>> query_params;
  std::map<std::string, std::string, std::less<>> headers, cookies, session_values, variables;
  std::optional<User> visitor;
  std::vector<Tree> arguments;
  std::map<std::string, ObjectPtr, std::less<>> objects;
  std::string object_path = "/a";
  std::string view_name = "page";
  Millis wall = 1'700'000'000'123;
  std::uint64_t random_bits = 42;
  std::function<Value(std::string_view path, std::string_view view, std::span<const Tree>)> on_call;
  std::function<Document(std::string_view sql, const Arguments&, const QueryLimits&)> on_query;
  std::function<Document(std::string_view name, const Arguments&)> on_sql;
  std::map<std::string, Document, std::less<>> settings;
  std::map<std::pair<std::string, std::int64_t>, Document> rows;

  /// What was read and said, in order: "param:page", "object:/a", "tag:news", "no_store:why".
  std::vector<std::string> log;

  void addObject(Object object) {
    const std::string path = object.path;
    objects[path] = std::make_shared<const Object>(std::move(object));
  }
  [[nodiscard]] bool read(std::string_view what) const {
    return std::find(log.begin(), log.end(), what) != log.end();
  }

  std::optional<std::string_view> param(std::string_view name) override {
    note("param:", name);
    for (const auto& [key, value] : query_params) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
  std::vector<std::string_view> paramAll(std::string_view name) override {
    note("param:", name);
    std::vector<std::string_view> values;
    for (const auto& [key, value] : query_params) {
      if (key == name) values.emplace_back(value);
    }
    return values;
  }
  std::vector<std::pair<std::string_view, std::string_view>> params() override {
    note("params", "");
    return {query_params.begin(), query_params.end()};
  }
  std::optional<std::string_view> header(std::string_view name) override {
    return find("header:", headers, name);
  }
  std::optional<std::string_view> cookie(std::string_view name) override {
    return find("cookie:", cookies, name);
  }
  std::string_view origin() override {
    note("host", "");
    return "http://example.org";
  }
  const User* user() override {
    note("user", "");
    return visitor ? &*visitor : nullptr;
  }
  bool hasRole(std::string_view role) override {
    note("roles", "");
    return visitor &&
           std::find(visitor->roles.begin(), visitor->roles.end(), role) != visitor->roles.end();
  }
  std::optional<std::string_view> session(std::string_view name) override {
    return find("session:", session_values, name);
  }
  std::string csrfToken() override { return "csrf-token"; }
  const Node& arg(std::size_t index) override {
    note("arg:", std::to_string(index));
    held_ = Document::from(index < arguments.size() ? arguments[index] : Tree());
    return held_.root();
  }
  Millis now() override {
    note("now", "");
    return wall;
  }
  std::uint64_t random() override {
    note("random", "");
    return random_bits;
  }
  std::string_view pathVariable(std::string_view name) override {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string_view() : it->second;
  }
  std::string_view path() override { return object_path; }
  std::string_view viewName() override { return view_name; }

  ObjectPtr object() override { return open(object_path); }
  ObjectPtr open(std::string_view path) override {
    note("object:", path);
    const auto it = objects.find(path);
    return it == objects.end() ? nullptr : it->second;
  }
  std::vector<ObjectPtr> children(std::string_view path, const ChildrenQuery& query) override {
    note("children:", path);
    last_query = query;
    std::vector<ObjectPtr> found;
    for (const auto& [key, object] : objects) {
      if (key.starts_with(std::string(path) + "/")) found.push_back(object);
    }
    return found;
  }
  std::size_t countChildren(std::string_view path, const ChildrenQuery& query) override {
    return children(path, query).size();
  }
  Document row(std::string_view table, std::int64_t id) override {
    const auto it = rows.find({std::string(table), id});
    return it == rows.end() ? Document() : it->second;
  }
  Document query(std::string_view sql, const Arguments& arguments_of,
                 const QueryLimits& limits) override {
    return on_query ? on_query(sql, arguments_of, limits) : Document::from(Tree::list());
  }
  Document acquire(std::string_view property) override {
    const auto it = settings.find(property);
    return it == settings.end() ? Document() : it->second;
  }
  Value call(std::string_view path, std::string_view view,
             std::span<const Tree> arguments_of) override {
    note("call:", std::string(path) + " " + std::string(view));
    return on_call ? on_call(path, view, arguments_of) : Value();
  }
  Document sql(std::string_view name, const Arguments& arguments_of) override {
    note("sql:", name);
    return on_sql ? on_sql(name, arguments_of) : Document();
  }

  void tag(std::string_view name) override { note("tag:", name); }
  void maxAge(Millis limit) override { note("max_age:", std::to_string(limit)); }
  void expiresAt(Millis at) override { note("expires_at:", std::to_string(at)); }
  void noStore(std::string_view reason) override { note("no_store:", reason); }

  ChildrenQuery last_query;

 private:
  void note(std::string_view what, std::string_view name) {
    log.push_back(std::string(what) + std::string(name));
  }
  std::optional<std::string_view> find(std::string_view what,
                                       const std::map<std::string, std::string, std::less<>>& in,
                                       std::string_view name) {
    note(what, name);
    const auto it = in.find(name);
    if (it == in.end()) return std::nullopt;
    return it->second;
  }

  Document held_;
};

}  // namespace larder::site::test
