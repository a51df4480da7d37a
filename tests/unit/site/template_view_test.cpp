#include "larder/site/template_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "app_file.h"
#include "fake_context.h"
#include "larder/testing/temp_dir.h"

namespace larder::site {
namespace {

using test::FakeContext;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct TemplateRun {
  testing::TempDir folder;
  FakeContext context;
  TemplateSource source{"page.tpl", "model", {}};

  Result<LoadedTemplate> load(std::string_view text) {
    folder.write("page.tpl", text);
    AppFiles files(folder.path());
    return loadTemplateView(source, [&](const std::string& file) { return files.read(file); });
  }
  std::shared_ptr<View> make(std::string_view text) {
    auto loaded = load(text);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    return loaded->view;
  }
  /// The body that the template makes of the model.
  std::string operator()(std::string_view text, const Tree& model) {
    context.on_call = [&](auto, std::string_view view, auto) -> Value {
      EXPECT_EQ(view, "model");
      return Document::from(model);
    };
    const Value value = make(text)->render(context);
    return value.isPage() ? std::string(value.page()->body) : "not a page";
  }
  std::string value(std::string_view text, const Tree& v) {
    return (*this)(text, Tree::map().set("v", v));
  }
  std::string error(std::string_view text) {
    const auto loaded = load(text);
    return loaded ? "no error" : loaded.error().message;
  }
};

// --- What the dictionary shows

TEST(TemplateView, IsAnHtmlPage) {
  TemplateRun run;
  run.context.on_call = [](auto, auto, auto) -> Value {
    return Document::from(Tree::map().set("v", 1));
  };
  const Value value = run.make("x{{v}}")->render(run.context);
  ASSERT_TRUE(value.isPage());
  EXPECT_EQ(value.page()->status, 200);
  EXPECT_EQ(*value.page()->header("Content-Type"), "text/html; charset=utf-8");
}

TEST(TemplateView, ScalarsAreShownAsText) {
  TemplateRun run;
  Tree model = Tree::map();
  model.set("t", "text").set("i", -3).set("r", 2.5).set("b", true).set("n", nullptr);
  EXPECT_EQ(run("{{t}}|{{i}}|{{r}}|{{b}}|{{n}}|{{absent}}|", model), "text|-3|2.5|true|||");
}

TEST(TemplateView, ListOfMapsIsASectionOfItsName) {
  TemplateRun run;
  Tree model = Tree::map();
  model.set("items", Tree::list({Tree::map().set("t", "a"), Tree::map().set("t", "b")}));
  model.set("outer", "o");
  EXPECT_EQ(
      run("{{#items}}({{t}}{{outer}}){{#items_separator}}, {{/items_separator}}{{/items}}", model),
      "(ao), (bo)");
}

TEST(TemplateView, ListOfTextsShowsItsValues) {
  TemplateRun run;
  EXPECT_EQ(run.value("{{#v}}[{{value}}]{{/v}}", Tree::list({"a", 2, "<"})), "[a][2][&lt;]");
}

TEST(TemplateView, MapIsASectionShownOnceWithItsKeys) {
  TemplateRun run;
  EXPECT_EQ(run.value("{{#v}}{{name}} {{#more}}{{deep}}{{/more}}{{/v}}",
                      Tree::map().set("name", "n").set("more", Tree::map().set("deep", "d"))),
            "n d");
}

struct Shown {
  Tree value;
  bool shown;
};
class ShowsSection : public ::testing::TestWithParam<Shown> {};
TEST_P(ShowsSection, IfThereIsSomething) {
  TemplateRun run;
  EXPECT_EQ(run.value("{{#v}}yes{{/v}}{{^v}}no{{/v}}", GetParam().value),
            GetParam().shown ? "yes" : "no");
}
INSTANTIATE_TEST_SUITE_P(Template, ShowsSection,
                         ::testing::Values(Shown{true, true}, Shown{false, false},
                                           Shown{nullptr, false}, Shown{"", false},
                                           Shown{"x", true}, Shown{0, true}, Shown{0.0, true},
                                           Shown{Tree::list(), false}, Shown{Tree::map(), false},
                                           Shown{Tree::list({nullptr}), true}));

TEST(TemplateView, ListWhereATextBelongsIsAnErrorWithItsPlace) {
  TemplateRun run;
  try {
    (void)run.value("a\nb {{v}}", Tree::list({1}));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "page.tpl:2: {{v}} is a list or a map; {{#v}} shows it");
  }
}

TEST(TemplateView, LinesOfMarkersLeaveNoLine) {
  TemplateRun run;
  EXPECT_EQ(run.value("<ul>\n{{! a comment }}\n{{#v}}\n  <li>{{value}}</li>\n{{/v}}\n</ul>\n",
                      Tree::list({1, 2})),
            "<ul>\n  <li>1</li>\n  <li>2</li>\n</ul>\n");
}

TEST(TemplateView, WithoutAModelShowsTheObject) {
  TemplateRun run;
  run.source.model.clear();
  Object object;
  object.path = "/a";
  object.title = "A & B";
  object.properties = Document::from(Tree::map().set("icon", "box"));
  object.tags = {"x", "y"};
  run.context.addObject(object);
  const Value value =
      run.make("{{title}} {{#properties}}{{icon}}{{/properties}} {{#tags}}{{value}}{{/tags}}")
          ->render(run.context);
  EXPECT_EQ(value.page()->body, "A &amp; B box xy");
}

TEST(TemplateView, WithoutDataDependsOnNothing) {
  TemplateRun run;
  run.source.model.clear();
  EXPECT_EQ(run.make("<p>about")->render(run.context).page()->body, "<p>about");
  EXPECT_TRUE(run.context.log.empty());
}

TEST(TemplateView, ModelThatAnswersWithAPageAnswers) {
  TemplateRun run;
  run.context.on_call = [](auto, auto, auto) -> Value {
    Page page;
    page.status = 302;
    page.setHeader("Location", "/b");
    return page;
  };
  EXPECT_EQ(run.make("{{x}}")->render(run.context).page()->status, 302);
}

TEST(TemplateView, ModelThatIsNoMapIsAnError) {
  TemplateRun run;
  run.context.on_call = [](auto, auto, auto) -> Value { return Document::from(Tree::list()); };
  const auto view = run.make("{{x}}");
  EXPECT_THROW((void)view->render(run.context), std::runtime_error);
}

TEST(TemplateView, CanBeExpandedByManyThreads) {
  TemplateRun run;
  const auto view = run.make("{{#items}}{{t}},{{/items}}");
  const auto render = [&](int seed) {
    FakeContext context;
    context.on_call = [&](auto, auto, auto) -> Value {
      Tree items = Tree::list();
      for (int i = 0; i < 20; ++i) items.add(Tree::map().set("t", seed + i));
      return Document::from(Tree::map().set("items", items));
    };
    std::string expected;
    for (int i = 0; i < 20; ++i) expected += std::to_string(seed + i) + ",";
    for (int i = 0; i < 200; ++i) {
      if (view->render(context).page()->body != expected) return false;
    }
    return true;
  };
  auto other = std::async(std::launch::async, render, 1000);
  EXPECT_TRUE(render(1));
  EXPECT_TRUE(other.get());
}

// --- Includes

TEST(TemplateInclude, InsertsThePageOfAViewUnescaped) {
  TemplateRun run;
  run.source.includes = {{"related", "related_view"}};
  run.context.on_call = [](std::string_view path, std::string_view view, auto) -> Value {
    if (view == "model") return Document::from(Tree::map().set("related", "<data>"));
    EXPECT_EQ(path, "/a");
    EXPECT_EQ(view, "related_view");
    Page page;
    page.body = "<ul></ul>";
    return page;
  };
  EXPECT_EQ(run.make("<div>{{related}}</div>")->render(run.context).page()->body,
            "<div><ul></ul></div>");
}

TEST(TemplateInclude, IsNeverTakenFromData) {
  TemplateRun run;
  run.source.includes = {{"related", "related"}};
  run.context.on_call = [](auto, std::string_view view, auto) -> Value {
    if (view != "model") return Page{};
    Tree item = Tree::map();
    item.set("related", "<script>").set("__include_related", "<script>");
    return Document::from(Tree::map().set("items", Tree::list({item})));
  };
  EXPECT_EQ(run.make("{{#items}}[{{related}}]{{/items}}")->render(run.context).page()->body, "[]");
}

TEST(TemplateInclude, FailsWithTheViewThatGivesNoPage) {
  TemplateRun run;
  run.source.includes = {{"related", "rel"}};
  const auto view = run.make("{{related}}{{v}}");
  run.context.on_call = [](auto, auto, auto) -> Value { return Document::from(Tree::map()); };
  EXPECT_THROW((void)view->render(run.context), std::runtime_error);
}

TEST(TemplateInclude, OfAFileIsPartOfTheText) {
  TemplateRun run;
  run.folder.write("parts/head.tpl", "<title>{{v}}</title>{{>deep.tpl}}");
  run.folder.write("parts/deep.tpl", "<b title='");
  EXPECT_EQ(run.value("{{>parts/head.tpl}}{{v}}'>", "a'b"),
            "<title>a&#39;b</title><b title='a&#39;b'>");
}

TEST(TemplateInclude, FilesAreListedWithTheTemplate) {
  TemplateRun run;
  run.folder.write("head.tpl", "h");
  const auto loaded = run.load("{{>head.tpl}}{{>head.tpl}}");
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->files, ElementsAre("page.tpl", "head.tpl"));
}

// --- Escaping

struct Escaped {
  const char* text;
  const char* value;
  const char* result;
};
class Escapes : public ::testing::TestWithParam<Escaped> {};
TEST_P(Escapes, ForThePlaceInTheHtml) {
  TemplateRun run;
  EXPECT_EQ(run.value(GetParam().text, GetParam().value), GetParam().result);
}
INSTANTIATE_TEST_SUITE_P(
    Template, Escapes,
    ::testing::Values(
        // Text, also of elements whose content is not parsed, and comments.
        Escaped{"<p>{{v}}</p>", "<script>&\"'", "<p>&lt;script&gt;&amp;&quot;&#39;</p>"},
        Escaped{"<title>{{v}}</title>", "</title><script>",
                "<title>&lt;/title&gt;&lt;script&gt;</title>"},
        Escaped{"<textarea>{{v}}</textarea>", "</textarea>",
                "<textarea>&lt;/textarea&gt;</textarea>"},
        Escaped{"<!-- {{v}} -->", "--><script>", "<!-- --&gt;&lt;script&gt; -->"},
        // Attributes.
        Escaped{"<a title=\"{{v}}\">", "\" onclick=\"x", "<a title=\"&quot; onclick=&quot;x\">"},
        Escaped{"<a title='{{v}}'>", "' onclick='x", "<a title='&#39; onclick=&#39;x'>"},
        Escaped{"<input data-x=\"a {{v}}\">", "\">", "<input data-x=\"a &quot;&gt;\">"},
        // Addresses.
        Escaped{"<a href=\"{{v}}\">", "javascript:alert(1)", "<a href=\"#\">"},
        Escaped{"<a href=\"{{v}}\">", " JavaScript:alert(1)", "<a href=\"#\">"},
        Escaped{"<a href=\"{{v}}\">", "data:text/html,x", "<a href=\"#\">"},
        Escaped{"<a href=\"{{v}}\">", "https://example.org/?a=1&b=\"",
                "<a href=\"https://example.org/?a=1&amp;b=&quot;\">"},
        Escaped{"<a href=\"{{v}}{{v}}\">", ":x", "<a href=\"##\">"},
        Escaped{"<a href=\"{{#v}}{{v}}{{/v}}{{v}}\">", ":x", "<a href=\"##\">"},
        Escaped{"<a href=\"data{{v:u}}\">", ":x", "<a href=\"data%3Ax\">"},
        Escaped{"<a href=\"{{v}}\">", "/a/b", "<a href=\"/a/b\">"},
        Escaped{"<a href=\"/search?q={{v:u}}\">", "a b&c\"", "<a href=\"/search?q=a+b%26c%22\">"},
        Escaped{"<form action='{{v}}'>", "javascript:x", "<form action='#'>"},
        Escaped{"<img src=\"{{v}}\">", "javascript:x", "<img src=\"#\">"},
        // Scripts.
        Escaped{"<script>var x = '{{v}}';</script>", "'</script>\n",
                "<script>var x = '\\x27\\x3c/script\\x3e\\n';</script>"},
        Escaped{"<script>var x = {{v}};</script>", "alert(1)", "<script>var x = null;</script>"},
        Escaped{"<script>var x = {{v}};</script>", "12.5", "<script>var x = 12.5;</script>"},
        Escaped{"<script>var x = \"{{v:o}}\";</script>", "\"\\</script>",
                "<script>var x = \"\\\"\\\\\\u003C\\/script\\u003E\";</script>"},
        Escaped{"<button onclick=\"f('{{v:j}}')\">", "');alert('\"",
                "<button onclick=\"f('\\x27);alert(\\x27\\x22')\">"},
        Escaped{"<button onclick=\"f({{v:J=number}})\">", "alert(1)",
                "<button onclick=\"f(null)\">"},
        Escaped{"<button onclick='f(&quot;{{v:j}}&quot;)'>", "\");x(\"",
                "<button onclick='f(&quot;\\x22);x(\\x22&quot;)'>"},
        // Styles.
        Escaped{"<p style=\"color: {{v}}\">", "red; background: url(x)",
                "<p style=\"color: red background urlx\">"}));

// --- What is refused

struct Refused {
  const char* text;
  const char* reason;
};
class RefusesTemplate : public ::testing::TestWithParam<Refused> {};
TEST_P(RefusesTemplate, WithFileAndLine) {
  TemplateRun run;
  EXPECT_THAT(run.error(std::string("<p>\n") + GetParam().text), StartsWith("page.tpl:2: "));
  EXPECT_THAT(run.error(GetParam().text), HasSubstr(GetParam().reason));
}
INSTANTIATE_TEST_SUITE_P(
    Template, RefusesTemplate,
    ::testing::Values(
        // What escaping does not cover.
        Refused{"<button formaction=\"{{v}}\">", "fills formaction"},
        Refused{"<button FormAction='/x?{{v}}'>", "fills formaction"},
        Refused{"<a xlink:href=\"{{v}}\">", "fills xlink:href"},
        Refused{"<iframe srcdoc=\"{{v}}\">", "fills srcdoc"},
        Refused{"<iframe srcdoc=\"<p>{{v:h}}</p>\">", "fills srcdoc"},
        Refused{"<animate attributeName=href to=\"{{v}}\">", "fills to"},
        Refused{"<set attributeName=href to=\"{{v}}\">", "fills to"},
        Refused{"<meta http-equiv=refresh content=\"0;url={{v}}\">", "http-equiv"},
        Refused{"<meta content=\"0;url={{v}}\" http-equiv=refresh>", "http-equiv"},
        Refused{"<meta http-equiv=\"{{v}}\" content=\"0\">", "fills http-equiv"},
        Refused{"<script src=\"{{v}}\">", "decides what a script element loads"},
        Refused{"<script src=\"/{{v}}\">", "decides what a script element loads"},
        Refused{"<script src=\"/ \\\\{{v}}/x.js\">", "decides what a script element loads"},
        Refused{"<script src=\"https://{{v}}/x.js\">", "decides what a script element loads"},
        Refused{"<script src=\"https:///{{v}}/x.js\">", "decides what a script element loads"},
        Refused{"<script src=\"http{{v}}\">", "decides what a script element loads"},
        Refused{"<script src=\"&sol;&sol;{{v}}\">", "decides what a script element loads"},
        Refused{"<script src=\"{{#a}}/x{{/a}}/{{v}}\">", "decides what a script element loads"},
        Refused{"<base href=\"{{v}}\">", "decides what a base element loads"},
        Refused{"<object data=\"{{v}}\">", "decides what a object element loads"},
        // Addresses that browsers take for scripts.
        Refused{"<a href=\" {{v}}\">", "may complete the scheme"},
        Refused{"<a href=\"\t{{v}}\">", "may complete the scheme"},
        Refused{"<a href=\"&#32;{{v}}\">", "may complete the scheme"},
        Refused{"<a href=\"&Tab;{{v}}\">", "may complete the scheme"},
        Refused{"<a href=\"Java{{v}}\">", "may complete the scheme"},
        Refused{"<a href=\"&#x6A;&#97va{{v}}\">", "may complete the scheme"},
        Refused{"<a href=\"{{#a}}{{v}}x{{/a}}{{v}}\">", "may complete the scheme"},
        Refused{"<a href=\"{{v}}script{{v}}\">", "may complete the scheme"},
        Refused{"<a href=\"&{{v}}\">", "in an entity"},
        Refused{"<a href=\"{{v}}&{{v}}\">", "in an entity"},
        Refused{"<a href=\"javascript:f('{{v}}')\">", "may run as a script"},
        Refused{"<a href=\" java\tscript&colon;f('{{v:u}}')\">", "may run as a script"},
        Refused{"<a href=\"&#106avascript:{{v}}\">", "may run as a script"},
        Refused{"<form action=\"VBScript:{{v}}\">", "may run as a script"},
        Refused{"<iframe src='data:text/html,{{v}}'>", "may run as a script"},
        Refused{"<a href=\"{{#a}}javascript:f({{/a}}{{v}}\">", "may run as a script"},
        Refused{"<a href=\"{{v}}:{{v}}\">", "would be the scheme"},
        Refused{"<a href=\"{{v}}&#58;{{v}}\">", "would be the scheme"},
        Refused{"<a href=\"{{#a}}{{v}}:{{/a}}\">", "would be the scheme"},
        Refused{"<a href=\"{{#a}}j{{/a}}avascript:{{v}}\">", "would be the scheme"},
        // Scripts.
        Refused{"<p onclick=\"f('{{v}}')\">", "say how it is meant: {{...:j}} for text"},
        Refused{"<p onclick=\"f({{v}})\">", "say how it is meant: {{...:J=number}}"},
        Refused{"<p onclick=\"f({{v:j}})\">", "modifier 'j', which does not fit"},
        Refused{"<p onclick=\"a && f('{{v:J=number}}')\">", "which does not fit"},
        Refused{"<p onclick=\"f(&grave;{{v:J=number}})\">", "in a template literal"},
        Refused{"<p onclick=\"f(&{{v:J=number}})\">", "in an entity"},
        Refused{"<p ONCLICK=\"f('{{v:h}}')\">", "modifier 'h', which does not fit"},
        Refused{"<script>var x = `{{v}}`</script>", "in a template literal"},
        // Places that only an author may fill.
        Refused{"<{{v}}>", "names a tag"}, Refused{"<h{{v}}>", "names a tag"},
        Refused{"</{{v}}>", "names a tag"}, Refused{"<p {{v}}>", "names an attribute"},
        Refused{"<p data-{{v}}=1>", "names an attribute"},
        Refused{"<p class={{v}}>", "without quotes"}, Refused{"<p class=a{{v}}>", "without quotes"},
        Refused{"<a href={{v}}>", "without quotes"},
        Refused{"<!doctype {{v}}>", "in a declaration"},
        // Modifiers.
        Refused{"{{v:none}}", "only an include is not escaped"},
        Refused{"{{v:j}}", "does not fit in text"}, Refused{"{{v:x-mine}}", "does not fit in text"},
        Refused{"{{v:html_escap}}", "did you mean 'html_escape'"},
        Refused{"<a href=\"{{v:h}}\">", "does not fit in the value of href"},
        // Sections after which the HTML would mean something else.
        Refused{"{{#a}}<p title=\"{{/a}}x\">", "begins in text and ends in the value of title"},
        Refused{"<p {{#a}}data-{{/a}}onclick=\"{{v}}\">", "ends in the name of an attribute"},
        Refused{"<p on{{#a}}x{{/a}}=\"{{v}}\">", "begins in the name of an attribute"},
        Refused{"<p {{#a}}x{{/a}} =\"{{v}}\">", "names an attribute"},
        Refused{"<p {{#a}}x{{/a}}y>", "ends in the name of an attribute"},
        Refused{"<p{{#a}}x{{/a}}>", "begins in the name of a tag"},
        Refused{"<script>{{#a}}'{{/a}}</script>", "begins in script and ends in script, in a text"},
        Refused{"{{^a}}<!--{{/a}}-->", "ends in a comment"},
        Refused{"<a href=\"{{#a}}/x/{{/a}}{{v}}\">", "may or may not be the beginning"},
        Refused{"<a href=\"{{#a}}/x{{/a}}{{#b}}{{v}}{{/b}}\">", "may or may not be the beginning"},
        // Syntax.
        Refused{"{{v", "marker without its }}"}, Refused{"{{>x", "marker without its }}"},
        Refused{"{{#a}}x", "section 'a' is not closed"},
        Refused{"x{{/a}}", "{{/a}} closes no section"},
        Refused{"{{#a}}{{#b}}{{/a}}{{/b}}", "{{/a}} closes section 'b', opened at page.tpl:1"},
        Refused{"{{a b}}", "'a b' is no name"}, Refused{"{{}}", "'' is no name"},
        Refused{"{{__include_x}}", "names that begin with __"},
        Refused{"{{=<< >>=}}", "cannot be changed"},
        Refused{"{{%AUTOESCAPE context=\"JAVASCRIPT\"}}", "leave the pragma out"},
        Refused{"<p title=\"x", "the template ends in the value of title that begins here"},
        Refused{"<script>x", "the template ends in script"},
        Refused{"<!-- x", "the template ends in a comment"},
        Refused{"{{>none.tpl}}", "none.tpl: No such file"},
        Refused{"{{>../other.tpl}}", "not below the app's folder"},
        Refused{"{{>page.tpl}}", "deep"}));

class AcceptsTemplate : public ::testing::TestWithParam<const char*> {};
TEST_P(AcceptsTemplate, ThatIsSafe) {
  TemplateRun run;
  EXPECT_EQ(run.error(GetParam()), "no error");
}
INSTANTIATE_TEST_SUITE_P(
    Template, AcceptsTemplate,
    ::testing::Values(
        "<option {{#v}}selected{{/v}}>", "<option{{#v}} selected{{/v}}>",
        "<p hidden{{#v}} open{{/v}}/>", "<p {{#v}}class=\"a\"{{/v}} {{#w}}id=\"b\"{{/w}}>",
        "<p class=\"a{{#v}} b{{/v}}\">", "<p class=\"{{#v}}b{{/v}}\">",
        "<a href=\"{{#v}}/x{{/v}}{{^v}}/y{{/v}}\">", "<a href=\"/a{{#v}}?x={{v:u}}{{/v}}\">",
        "<a href=\"http{{#v}}s{{/v}}://example.org/{{v}}\">", "<a href=\"mailto:{{v}}\">",
        "<a href=\"{{#a}}https{{/a}}{{^a}}http{{/a}}://example.org/{{v}}\">",
        "<script src=\"https://example.org/{{v}}{{v}}\"></script>",
        "<script src=\"x/{{v}}\"></script>", "<script src='/x{{#a}}{{v}}{{/a}}'></script>",
        "<script src=\"//example.org/{{v}}?a=b&amp;c={{v:u}}\"></script>", "<a href=\"item{{v}}\">",
        "<a href=\"d{{v:u}}\">", "<a href=\"./d{{v}}\">", "<a href=\"{{v}}/x:{{v}}\">",
        "<a href=\"{{v}}?x={{v}}&y={{v}}\">", "<a href=\"{{v}}&amp;x={{v}}\">",
        "<a href=\"javascript:history.back()\">{{v}}</a>",
        "<a href=\"{{#a}}{{v}}{{/a}}{{^a}}/x/{{v}}{{/a}}\">",
        "<a href=\"{{#a}}javascript:void(0){{/a}}\">", "<p title=\"{{v}}: {{v}}&{{v}}\">",
        "<p onclick=\"a && f('{{v:j}}')\">", "<meta name=description content=\"{{v}}\">",
        "<link rel=canonical href=\"{{v}}\">", "<script src=\"/x.js?{{v:u}}\"></script>",
        "<script>if (a < b) { f('{{v}}'); } // don't\n g({{v}});</script>",
        "<script>/* ' */ f(\"it's {{v}}\")</script>", "a < b {{v}}", "{{{v}}}",
        "<br/>{{v}}<img src=\"{{v}}\"/>", "<!doctype html>{{v}}", "<p>a --> {{v}}"));

TEST(TemplateSource, ErrorsInIncludedFilesNameThem) {
  TemplateRun run;
  run.folder.write("parts/a.tpl", "<p>\n<p {{v}}>");
  EXPECT_THAT(run.error("x\n{{>parts/a.tpl}}\n{{v}}"), StartsWith("parts/a.tpl:2: "));
}

TEST(TemplateSource, LinesGoOnAfterAnInclude) {
  TemplateRun run;
  run.folder.write("a.tpl", "1\n2\n3\n");
  EXPECT_THAT(run.error("x\n{{>a.tpl}}\ny {{>a.tpl}}\n<p {{v}}>"), StartsWith("page.tpl:4: "));
}

TEST(TemplateSource, UnusedIncludeIsAnError) {
  TemplateRun run;
  run.source.includes = {{"related", "related"}};
  EXPECT_EQ(run.error("x"), "page.tpl: include 'related' is not in the template as {{related}}");
}

TEST(TemplateSource, IncludeOfAViewFitsIntoTextOnly) {
  TemplateRun run;
  run.source.includes = {{"r", "r"}};
  EXPECT_THAT(run.error("<p title=\"{{r}}\">"), HasSubstr("a page fits into text only"));
  EXPECT_THAT(run.error("<script>{{r}}</script>"), HasSubstr("a page fits into text only"));
  EXPECT_THAT(run.error("{{r:h}}"), HasSubstr("takes no modifiers"));
}

TEST(TemplateSource, TextThatIsNotUtf8IsAnErrorWithItsLine) {
  TemplateRun run;
  EXPECT_EQ(run.error("a\n\xff"), "page.tpl:2: not UTF-8");
}

}  // namespace
}  // namespace larder::site
