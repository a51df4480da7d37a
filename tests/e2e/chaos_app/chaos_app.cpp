// An app whose pages say what they were made of, for the test that wants to know whether a page is
// what its visitor may get: a line for each thing that was read.
//
//   V view path time       a view's part begins; when it was rendered, ns of CLOCK_MONOTONIC
//   U login                the user it read, "-" for nobody
//   Q value                the parameter q, "-" if absent
//   R item version         items below 100 are rows, those from 100 on objects
//   E                      the part ends
#include <time.h>

#include <charconv>
#include <string>

#include "larder/app.h"

namespace {

using larder::ActionContext;
using larder::Object;
using larder::Page;
using larder::RenderContext;
using larder::Value;

constexpr std::int64_t kRows = 6;
constexpr std::int64_t kObjects = 4;
constexpr std::int64_t kFirstObject = 100;

std::int64_t numberOf(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string pathOf(RenderContext& context, std::int64_t object) {
  return std::string(context.appPath()) + "/p" + std::to_string(object);
}

/// The number in ".../p3".
std::int64_t objectOf(std::string_view path) {
  return numberOf(path.substr(path.rfind('p') + 1));
}

// Read behind the recorder's back: it is not what the page shows that depends on it, only what the
// test can tell.
std::string monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

class Part {
 public:
  explicit Part(RenderContext& context) : context_(context) {
    line("V " + std::string(context.viewName()) + " " + std::string(context.path()) + " " +
         monotonic());
    context.tag("chaos");
  }
  void line(const std::string& text) { text_ += text + "\n"; }
  void object(const Object& object) {
    line("R " + std::to_string(kFirstObject + objectOf(object.path)) + " " + object.title);
  }
  void self() {
    const auto object = context_.object();
    if (!object) throw larder::HttpError{404, "there is no page here"};
    this->object(*object);
  }
  void row(std::int64_t id) {
    const auto row = context_.row("item", id);
    line("R " + std::to_string(id) + " " + std::to_string(row.root()["version"].integer()));
  }
  void user() {
    const auto* user = context_.user();
    line("U " + (user ? user->login : std::string("-")));
  }
  void parameter() { line("Q " + std::string(context_.param("q").value_or("-"))); }
  void call(const std::string& path, std::string_view view) {
    const auto value = context_.call(path, view, {});
    text_ += value.page() ? value.page()->body : "not a page\n";
  }
  [[nodiscard]] Value end() {
    line("E");
    Page page;
    page.setHeader("Content-Type", "text/plain");
    page.body = std::move(text_);
    return page;
  }

 private:
  RenderContext& context_;
  std::string text_;
};

/// An object, two rows, another object's part, and for every second one the user.
class PageView final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    const auto number = objectOf(context.path());
    Part part(context);
    part.self();
    part.row(1 + number % kRows);
    if (number % 2 == 1) part.user();
    part.call(pathOf(context, (number + 1) % kObjects), "part");
    part.row(1 + (number + 1) % kRows);
    part.parameter();
    return part.end();
  }
};

class PartView final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    Part part(context);
    part.self();
    const auto rows = context.query("SELECT id, version FROM item ORDER BY id", {});
    for (std::size_t i = 0; i < rows.root().size(); ++i) {
      const auto& row = rows.root().at(i);
      part.line("R " + std::to_string(row["id"].integer()) + " " +
                std::to_string(row["version"].integer()));
    }
    return part.end();
  }
};

/// Takes so long that others ask for it meanwhile.
class SlowView final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    Part part(context);
    part.self();
    part.parameter();
    const timespec while_others_ask{0, 400'000'000};
    nanosleep(&while_others_ask, nullptr);
    return part.end();
  }
};

class ListView final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    Part part(context);
    for (const auto& child : context.children(context.appPath(), {})) part.object(*child);
    return part.end();
  }
};

Page done() {
  Page page;
  page.body = "done\n";
  return page;
}

/// item=3&version=17. A version only grows: a late attempt changes nothing.
class Set final : public larder::Action {
 public:
  Page run(ActionContext& context) override {
    const auto item = numberOf(context.form("item").value_or(""));
    const auto version = numberOf(context.form("version").value_or(""));
    context.edit([&](larder::Edit& edit) {
      if (item < kFirstObject) {
        edit.execute("UPDATE item SET version = :version WHERE id = :id AND version < :version",
                     {{"version", version}, {"id", item}});
        return;
      }
      auto object = *edit.open(pathOf(context, item - kFirstObject));
      if (numberOf(object.title) >= version) return;
      object.title = std::to_string(version);
      edit.update(object, 0);
    });
    return done();
  }
};

class SetUp final : public larder::Action {
 public:
  Page run(ActionContext& context) override {
    context.edit([&](larder::Edit& edit) {
      Object object;
      object.path = context.appPath();
      object.type = "chaos_folder";
      edit.create(object);
      for (std::int64_t i = 0; i < kObjects; ++i) {
        object.path = pathOf(context, i);
        object.type = "chaos";
        object.title = "0";
        edit.create(object);
      }
    });
    return done();
  }
};

class LogIn final : public larder::Action {
 public:
  Page run(ActionContext& context) override {
    if (!context.logIn(context.form("login").value_or(""), context.form("password").value_or("")))
      throw larder::HttpError{403, "no"};
    return done();
  }
};

class Chaos final : public larder::App {
 public:
  void define(larder::AppBuilder& app) override {
    app.schema(1,
               "CREATE TABLE item(id INTEGER PRIMARY KEY, version INTEGER NOT NULL);"
               "INSERT INTO item(id, version) VALUES (1,0),(2,0),(3,0),(4,0),(5,0),(6,0)");
    app.type("chaos", "page");
    app.type("chaos_folder", "list");
    app.view("page", "chaos", std::make_unique<PageView>());
    app.view("part", "chaos", std::make_unique<PartView>());
    app.view("slow", "chaos", std::make_unique<SlowView>());
    app.view("list", "chaos_folder", std::make_unique<ListView>());
    app.action("set", "", std::make_unique<Set>());
    app.action("setup", "", std::make_unique<SetUp>());
    app.action("login", "", std::make_unique<LogIn>());
    app.route("POST", "/set", "set");
    app.route("POST", "/setup", "setup");
    app.route("POST", "/login", "login");
  }
};

}  // namespace

LARDER_APP_MODULE(Chaos, "chaos", "1.0")
