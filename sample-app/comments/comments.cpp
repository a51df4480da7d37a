// comments: a small JSON API whose answers are cached without a word about caching.
//
//   GET  /comments/{id}              one comment            depends on its row
//   GET  /comments/users/{id}        a user's latest 25     depends on the table
//   POST /comments                   {"user": 7, "text": "..."}  -> 201, Location
//   GET  .../no_cache                the same answers, never stored: what they cost without a cache
#include <charconv>
#include <nlohmann/json.hpp>

#include "larder/app.h"

namespace {

using larder::ActionContext;
using larder::Document;
using larder::Node;
using larder::Page;
using larder::RenderContext;
using larder::Value;
using nlohmann::ordered_json;

constexpr std::size_t kMaxText = 10'000;

Page answer(int status, const ordered_json& body) {
  Page page;
  page.status = status;
  page.setHeader("Content-Type", "application/json");
  page.body = body.dump();
  return page;
}

Page refusal(int status, std::string_view error) {
  return answer(status, {{"error", error}});
}

std::optional<std::int64_t> positive(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

ordered_json asJson(const Node& comment) {
  return {{"id", comment["id"].integer()},
          {"user", comment["user_id"].integer()},
          {"text", comment["text"].text()},
          {"created", comment["created"].integer()}};
}

class OneComment final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    const auto id = positive(context.pathVariable("id"));
    if (!id) return refusal(404, "a comment's id is a positive number");
    const Document row = context.row("comment", *id);
    if (row.root().isNull()) return refusal(404, "there is no comment " + std::to_string(*id));
    return answer(200, asJson(row.root()));
  }
};

class CommentsOfUser final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    const auto user = positive(context.pathVariable("id"));
    if (!user) return refusal(404, "a user's id is a positive number");
    const Document rows = context.query(
        "SELECT id, user_id, text, created FROM comment WHERE user_id = :user ORDER BY id DESC "
        "LIMIT 25",
        {{"user", *user}});
    ordered_json list = ordered_json::array();
    for (std::size_t i = 0; i < rows.root().size(); ++i) list.push_back(asJson(rows.root().at(i)));
    return answer(200, list);
  }
};

/// Another view's answer, rendered each time.
class Uncached final : public larder::View {
 public:
  explicit Uncached(std::unique_ptr<larder::View> view) : view_(std::move(view)) {}
  Value render(RenderContext& context) override {
    context.noStore("asked for without a cache");
    return view_->render(context);
  }

 private:
  std::unique_ptr<larder::View> view_;
};

class AddComment final : public larder::Action {
 public:
  Page run(ActionContext& context) override {
    // A page of another site cannot send this type without asking first, so no token is needed.
    if (!context.contentType().starts_with("application/json")) {
      return refusal(415, "send the comment as application/json");
    }
    const auto body = ordered_json::parse(context.body(), nullptr, false);
    if (!body.is_object())
      return refusal(400, "the body must be a JSON object: {\"user\": 7, \"text\": \"...\"}");
    for (const auto& [name, value] : body.items()) {
      if (name != "user" && name != "text") return refusal(422, "unknown field '" + name + "'");
    }
    const auto user = body.find("user");
    const auto text = body.find("text");
    if (user == body.end() || !user->is_number_integer() || user->get<std::int64_t>() <= 0) {
      return refusal(422, "'user' must be a positive number");
    }
    if (text == body.end() || !text->is_string() || text->get_ref<const std::string&>().empty()) {
      return refusal(422, "'text' must be a text that is not empty");
    }
    if (text->get_ref<const std::string&>().size() > kMaxText) {
      return refusal(422, "'text' is longer than " + std::to_string(kMaxText) + " bytes");
    }
    std::int64_t id = 0;
    const auto created = context.now() / 1000;
    context.edit([&](larder::Edit& edit) {
      edit.execute("INSERT INTO comment(user_id, text, created) VALUES (:user, :text, :created)",
                   {{"user", user->get<std::int64_t>()},
                    {"text", text->get<std::string>()},
                    {"created", created}});
      id = edit.lastInsertId();
    });
    Page page = answer(201, {{"id", id}, {"user", *user}, {"text", *text}, {"created", created}});
    page.setHeader("Location", std::string(context.path()) + "/" + std::to_string(id));
    return page;
  }
};

class Comments final : public larder::App {
 public:
  void define(larder::AppBuilder& app) override {
    app.schema(
        1,
        "CREATE TABLE comment(id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, text TEXT NOT NULL,"
        " created INTEGER NOT NULL);"
        "CREATE INDEX comment_by_user ON comment(user_id, id)");
    // Something to look at: 40 users with 25 comments each.
    app.schema(2,
               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
               "INSERT INTO comment(id, user_id, text, created) "
               "SELECT i, (i - 1) / 25 + 1, 'Comment ' || i || ' of user ' || ((i - 1) / 25 + 1), "
               "1230768000 + 60 * i "
               "FROM n WHERE NOT EXISTS (SELECT 1 FROM comment)");
    app.view("comment", "", std::make_unique<OneComment>());
    app.view("comments_of_user", "", std::make_unique<CommentsOfUser>());
    app.view("comment_uncached", "", std::make_unique<Uncached>(std::make_unique<OneComment>()));
    app.view("comments_of_user_uncached", "",
             std::make_unique<Uncached>(std::make_unique<CommentsOfUser>()));
    app.action("add", "", std::make_unique<AddComment>());
    app.route("GET", "/comments/users/{id}", "comments_of_user");
    app.route("GET", "/comments/users/{id}/no_cache", "comments_of_user_uncached");
    app.route("GET", "/comments/{id}", "comment");
    app.route("GET", "/comments/{id}/no_cache", "comment_uncached");
    app.route("POST", "/comments", "add");
  }
};

}  // namespace

LARDER_APP_MODULE(Comments, "comments", "1.0")
