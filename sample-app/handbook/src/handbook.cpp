// The native part of the handbook: Markdown, members, log-in and editing. Pages, listings, search
// and the rest are templates, scripts and SQL methods in this folder.
#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "larder/app.h"
#include "members.h"

namespace {

using larder::ActionContext;
using larder::Document;
using larder::HttpError;
using larder::ObjectPtr;
using larder::Page;
using larder::RenderContext;
using larder::Tree;
using larder::Value;

/// CommonMark with GitHub's extensions; raw HTML is left out.
std::string toHtml(std::string_view markdown) {
  static const bool registered = (cmark_gfm_core_extensions_ensure_registered(), true);
  (void)registered;
  const int options = CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8;
  const std::unique_ptr<cmark_parser, decltype(&cmark_parser_free)> parser(
      cmark_parser_new(options), cmark_parser_free);
  for (const char* name : {"table", "strikethrough", "autolink", "tasklist"}) {
    if (auto* extension = cmark_find_syntax_extension(name)) {
      cmark_parser_attach_syntax_extension(parser.get(), extension);
    }
  }
  cmark_parser_feed(parser.get(), markdown.data(), markdown.size());
  const std::unique_ptr<cmark_node, decltype(&cmark_node_free)> document(
      cmark_parser_finish(parser.get()), cmark_node_free);
  const std::unique_ptr<char, decltype(&std::free)> html(
      cmark_render_html(document.get(), options, cmark_parser_get_syntax_extensions(parser.get())),
      std::free);
  return html.get();
}

Page htmlPage(std::string body) {
  Page page;
  page.setHeader("Content-Type", "text/html; charset=utf-8");
  page.body = std::move(body);
  return page;
}

Page redirect(std::string location) {
  Page page;
  page.status = 303;
  page.setHeader("Location", std::move(location));
  return page;
}

std::string root(RenderContext& context) {
  return context.appPath() == "/" ? std::string() : larder::urlPath(context.appPath());
}

class Html final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    const auto object = context.object();
    if (!object) throw HttpError{404, "There is no page here."};
    return htmlPage(toHtml(object->body));
  }
};

// --- Log-in

/// Where to go after a log-in: a path of this site only. Browsers leave out tabs and line ends, and
/// take a backslash for a slash.
std::string_view safeNext(std::string_view next) {
  const bool local = next.starts_with("/") && !next.starts_with("//");
  const bool plain =
      std::ranges::all_of(next, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '\\'; });
  return local && plain ? next : std::string_view();
}

Tree loginForm(RenderContext& context, std::string_view next, std::string_view login,
               std::string_view problem) {
  Tree form = Tree::map();
  form.set("title", "Log in").set("root", root(context)).set("next", next).set("login", login);
  form.set("problem", problem).set("csrf", context.csrfToken());
  const auto* user = context.user();
  form.set("user", user ? Tree(user->name) : Tree());
  return form;
}

class LoginModel final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    // Shown again after a refused log-in, with what was typed, by the action.
    const auto& again = context.arg(0);
    if (again.type() == larder::Node::Type::map) return Document::from(Tree::of(again));
    return Document::from(loginForm(context, safeNext(context.param("next").value_or("")), "", ""));
  }
};

/// A template's page for a model that an action made: the model view hands its argument through.
Page formPage(ActionContext& context, std::string_view path, std::string_view view, Tree model,
              int status) {
  const Tree arguments[] = {std::move(model)};
  const Value value = context.call(path, view, arguments);
  const auto rendered = value.page();
  if (!rendered) throw std::runtime_error("the view '" + std::string(view) + "' made no page");
  Page page = htmlPage(std::string(rendered->body));
  page.status = status;
  page.setHeader("Cache-Control", "no-store");
  return page;
}

class LogIn final : public larder::Action {
 public:
  Page run(ActionContext& context) override {
    context.requireCsrf();
    const std::string login(context.form("login").value_or(""));
    const auto next = safeNext(context.form("next").value_or(""));
    std::string problem;
    try {
      if (context.logIn(login, context.form("password").value_or(""))) {
        return redirect(next.empty() ? root(context) + "/" : std::string(next));
      }
      problem = "This name and password do not belong together.";
    } catch (const HttpError& e) {
      problem = e.message;
    }
    return formPage(context, context.appPath(), "login", loginForm(context, next, login, problem),
                    403);
  }
};

class LogOut final : public larder::Action {
 public:
  Page run(ActionContext& context) override {
    context.requireCsrf();
    context.logOut();
    return redirect(root(context) + "/");
  }
};

// --- Editing

Tree editForm(RenderContext& context, const larder::Object& object, std::string_view title,
              std::string_view body, std::int64_t revision, std::string_view problem) {
  Tree form = Tree::map();
  form.set("title", "Edit " + object.title).set("heading", object.title).set("root", root(context));
  form.set("self", larder::urlPath(object.path)).set("page_title", title).set("body", body);
  form.set("revision", revision).set("problem", problem).set("csrf", context.csrfToken());
  form.set("current", problem.empty() || body == object.body ? Tree() : Tree(object.body));
  return form;
}

class EditModel final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    const auto& again = context.arg(0);
    if (again.type() == larder::Node::Type::map) return Document::from(Tree::of(again));
    const auto object = context.object();
    if (!object) throw HttpError{404, "There is no page here."};
    return Document::from(
        editForm(context, *object, object->title, object->body, object->revision, ""));
  }
};

class EditPage final : public larder::Action {
 public:
  Page run(ActionContext& context) override {
    context.requireCsrf();
    auto object = context.object();
    if (!object) throw HttpError{404, "There is no page here."};
    const std::string title(context.form("title").value_or(""));
    std::string body(context.form("body").value_or(""));
    std::erase(body, '\r');  // browsers send line ends as CR LF
    std::int64_t revision = 0;
    const auto sent = context.form("revision").value_or("");
    std::from_chars(sent.data(), sent.data() + sent.size(), revision);
    std::string problem;
    if (title.empty()) {
      problem = "A page needs a title.";
    } else if (revision <= 0) {
      problem =
          "The form did not say which revision it changes: compare with what the page holds now.";
    } else {
      try {
        context.edit([&](larder::Edit& edit) {
          larder::Object changed = *object;
          changed.title = title;
          changed.body = body;
          edit.update(changed, revision);
        });
        return redirect(larder::urlPath(object->path));
      } catch (const larder::EditConflict&) {
        // Nothing typed is lost: the form comes back with it, beside what the page holds now.
        object = context.object();
        if (!object) throw HttpError{404, "Somebody else has removed this page."};
        problem = "Somebody else has changed this page since you began (it is at revision " +
                  std::to_string(object->revision) +
                  "). Your text is below and not saved yet: merge the two and save again.";
        revision = object->revision;
      }
    }
    return formPage(context, object->path, "edit",
                    editForm(context, *object, title, body, revision, problem), 409);
  }
};

class Handbook final : public larder::App {
 public:
  void define(larder::AppBuilder& app) override {
    app.schema(1, kMemberTable);
    app.schema(2, kMembers);
    app.view("html", "document", std::make_unique<Html>());
    app.view("login_model", "", std::make_unique<LoginModel>());
    app.view("edit_model", "document", std::make_unique<EditModel>());
    app.action("login", "", std::make_unique<LogIn>());
    app.action("logout", "", std::make_unique<LogOut>());
    app.action("edit", "document", std::make_unique<EditPage>());
  }
};

}  // namespace

LARDER_APP_MODULE(Handbook, "handbook", "1.0")
