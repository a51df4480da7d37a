#include "template_check.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>

#include "html_context.h"
#include "larder/cache/suggest.h"

namespace larder::site {
namespace {

using Modifiers = std::span<const std::string_view>;
constexpr std::array<std::string_view, 10> kHtmlModifiers = {
    "h",           "html_escape",
    "p",           "pre_escape",
    "u",           "url_query_escape",
    "H=pre",       "H=snippet",
    "H=attribute", "html_escape_with_arg=pre"};
constexpr std::array<std::string_view, 4> kUrlModifiers = {
    "U=html", "url_escape_with_arg=html", "I=html", "img_src_url_escape_with_arg=html"};
constexpr std::array<std::string_view, 2> kQueryModifiers = {"u", "url_query_escape"};
constexpr std::array<std::string_view, 4> kScriptTextModifiers = {"j", "javascript_escape", "o",
                                                                  "json_escape"};
constexpr std::array<std::string_view, 2> kScriptModifiers = {"J=number",
                                                              "javascript_escape_with_arg=number"};
constexpr std::array<std::string_view, 2> kStyleModifiers = {"c", "cleanse_css"};

/// Attributes whose value ctemplate checks as an address.
constexpr std::array<std::string_view, 12> kAddresses = {
    "action", "archive", "background", "cite",     "classid", "codebase",
    "data",   "dynsrc",  "href",       "longdesc", "src",     "usemap"};
/// Attributes that run or load what their value says, and that ctemplate takes for plain text.
constexpr std::array<std::string_view, 5> kUncovered = {"formaction", "xlink:href", "srcdoc",
                                                        "lowsrc", "http-equiv"};
/// Of SVG animations: they can set an address to anything.
constexpr std::array<std::string_view, 4> kAnimated = {"to", "from", "by", "values"};

template <class Range>
bool contains(const Range& range, std::string_view item) {
  return std::find(range.begin(), range.end(), item) != range.end();
}

bool isName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool loadsCode(std::string_view tag) {
  return tag == "script" || tag == "embed" || tag == "object" || tag == "base";
}

/// Whether data behind this beginning of an address cannot choose the server. Browsers take a
/// backslash for a slash and skip white space.
bool namesServer(std::string_view beginning) {
  std::string text;
  for (const char c : beginning.substr(0, beginning.find('&'))) {
    if (static_cast<unsigned char>(c) > ' ') text += c == '\\' ? '/' : c;
  }
  std::string_view rest = text;
  const auto end = rest.find_first_of(":/?#");
  if (end == std::string_view::npos) return false;
  const bool has_scheme = rest[end] == ':';
  if (has_scheme) rest.remove_prefix(end + 1);
  const auto slashes = std::min(rest.find_first_not_of('/'), rest.size());
  if (!has_scheme && slashes < 2) return slashes == 0 || rest.size() > 1;
  return rest.find_first_of("/?#", slashes) != std::string_view::npos;
}

class Checker {
 public:
  Checker(const TemplateText& source, const std::vector<std::string>& includes)
      : source_(source), text_(source.text()), includes_(includes) {
    out_.text = "{{%AUTOESCAPE context=\"HTML\"}}";
  }

  Result<CheckedTemplate> run() {
    while (at_ < text_.size()) {
      // Of "{{{name}}" the last two braces are the marker's.
      if (text_.substr(at_, 2) == "{{" && text_.substr(at_, 3) != "{{{") {
        if (auto done = marker(); !done) return done.error();
      } else {
        if (auto done = character(); !done) return done.error();
      }
    }
    if (!sections_.empty())
      return fail(sections_.back().offset, "section '" + sections_.back().name + "' is not closed");
    if (html_.state() != HtmlContext::State::text)
      return fail(construct_, "the template ends " + html_.describe() + " that begins here");
    const auto unused =
        std::find_if(includes_.begin(), includes_.end(), [this](const std::string& include) {
          return !out_.names.contains(std::string(kIncludePrefix) + include);
        });
    if (unused != includes_.end())
      return Error{source_.files().front() + ": include '" + *unused +
                   "' is not in the template as {{" + *unused + "}}"};
    return std::move(out_);
  }

 private:
  struct Section {
    std::string name;
    std::string written;  ///< its name in the text for ctemplate
    std::size_t offset;   ///< of its marker
    std::size_t body;     ///< of what is in it
    HtmlContext html;
  };

  [[nodiscard]] Error fail(std::size_t offset, std::string message) const {
    return Error{source_.where(offset) + ": " + std::move(message)};
  }

  Result<> character() {
    const char c = text_[at_];
    if (html_.state() == HtmlContext::State::text && c == '<') {
      construct_ = at_;
      refreshes_ = false;
    }
    using Address = HtmlContext::Address;
    const bool in_value = html_.state() == HtmlContext::State::value;
    const bool has_data = html_.address() == Address::data || html_.address() == Address::mixed;
    html_.feed(c);
    if (!in_value && html_.state() == HtmlContext::State::value) value_ = at_ + 1;
    if (has_data && html_.address() == Address::script && contains(kAddresses, html_.attribute()))
      return fail(at_, "what stands before this would be the scheme of the address in " +
                           html_.attribute() + ", with data in it or not in every case");
    if (html_.hasHttpEquiv() && refreshes_)
      return fail(at_, "data in a meta element with http-equiv");
    out_.text += c;
    ++at_;
    return Done{};
  }

  Result<> marker() {
    const std::size_t start = at_;
    const std::size_t end = text_.find("}}", start + 2);
    if (end == std::string_view::npos) return fail(start, "marker without its }}");
    const std::string_view content = text_.substr(start + 2, end - start - 2);
    at_ = end + 2;
    const char kind = content.empty() ? '\0' : content.front();
    switch (kind) {
      case '!':
        out_.text += "{{" + std::string(content) + "}}";
        return Done{};
      case '#':
      case '^':
        return open(start, content.substr(1), kind == '^');
      case '/':
        return close(start, content.substr(1));
      case '=':
        return fail(start, "the delimiters {{ and }} cannot be changed");
      case '%':
        return fail(start, "escaping is switched on for every template; leave the pragma out");
      default:
        return variable(start, content);
    }
  }

  Result<> checkName(std::size_t start, std::string_view name) const {
    if (!isName(name))
      return fail(start, "'" + std::string(name.substr(0, 60)) +
                             "' is no name; letters, digits and _ make one");
    if (name.starts_with("__")) return fail(start, "names that begin with __ are the server's");
    return Done{};
  }

  void remember(const std::string& name, std::size_t start) {
    out_.names.try_emplace(name, source_.where(start));
  }

  Result<> open(std::size_t start, std::string_view name, bool inverted) {
    if (auto ok = checkName(start, name); !ok) return ok;
    const std::string written =
        inverted ? std::string(kInvertedPrefix) + std::string(name) : std::string(name);
    out_.text += "{{#" + written + "}}";
    remember(written, start);
    sections_.push_back({std::string(name), written, start, at_, html_});
    return Done{};
  }

  Result<> close(std::size_t start, std::string_view name) {
    if (sections_.empty()) return fail(start, "{{/" + std::string(name) + "}} closes no section");
    const Section section = std::move(sections_.back());
    sections_.pop_back();
    if (section.name != name)
      return fail(start, "{{/" + std::string(name) + "}} closes section '" + section.name +
                             "', opened at " + source_.where(section.offset));
    if (!sameContext(section.html, html_)) {
      if (!isWholeAttribute(section))
        return fail(start, "section '" + section.name + "' begins " + section.html.describe() +
                               " and ends " + html_.describe() +
                               ": without it, the rest would mean something else");
      html_.endAttribute();
    }
    html_.mayBe(section.html);
    out_.text += "{{/" + section.written + "}}";
    return Done{};
  }

  /// An attribute without a value may come and go, if it can grow together neither with what is
  /// before it nor with what follows.
  [[nodiscard]] bool isWholeAttribute(const Section& section) const {
    using State = HtmlContext::State;
    constexpr std::string_view kSpaces = " \t\n\r";
    const State before = section.html.state();
    const bool apart_before =
        before == State::in_tag || ((before == State::tag_name || before == State::attribute) &&
                                    kSpaces.find(text_[section.body]) != std::string_view::npos);
    const bool apart_after =
        at_ < text_.size() && (kSpaces.find(text_[at_]) != std::string_view::npos ||
                               text_[at_] == '/' || text_[at_] == '>');
    return apart_before && apart_after && html_.tag() == section.html.tag() &&
           (html_.state() == State::attribute || html_.state() == State::in_tag);
  }

  Result<> variable(std::size_t start, std::string_view content) {
    const std::string_view name = content.substr(0, content.find(':'));
    if (auto ok = checkName(start, name); !ok) return ok;
    std::vector<std::string_view> modifiers;
    for (std::size_t i = name.size(); i < content.size();) {
      const std::size_t next = std::min(content.find(':', i + 1), content.size());
      modifiers.push_back(content.substr(i + 1, next - i - 1));
      i = next;
    }
    if (contains(includes_, name)) return include(start, name, modifiers);
    const auto problem = placeProblem(modifiers);
    if (problem) return fail(start, "{{" + std::string(name) + "}} " + *problem);
    html_.insertData();
    remember(std::string(name), start);
    out_.text += "{{" + std::string(content) + "}}";
    return Done{};
  }

  Result<> include(std::size_t start, std::string_view name,
                   const std::vector<std::string_view>& modifiers) {
    if (!modifiers.empty())
      return fail(start, "{{" + std::string(name) + "}} is an include and takes no modifiers");
    if (html_.state() != HtmlContext::State::text)
      return fail(start, "include {{" + std::string(name) + "}} " + html_.describe() +
                             "; a page fits into text only");
    const std::string written = std::string(kIncludePrefix) + std::string(name);
    remember(written, start);
    out_.text += "{{" + written + ":none}}";
    return Done{};
  }

  /// Why data may not stand here with these modifiers.
  std::optional<std::string> placeProblem(const std::vector<std::string_view>& modifiers) {
    using State = HtmlContext::State;
    switch (html_.state()) {
      case State::text:
      case State::comment:
        return modifierProblem(modifiers, kHtmlModifiers);
      case State::tag_open:
      case State::tag_name:
        return "names a tag; data must not";
      case State::in_tag:
      case State::attribute:
        return "names an attribute; data must not. Write {{#it}}attribute{{/it}} for one that "
               "comes "
               "and goes";
      case State::declaration:
        return "stands in a declaration; data must not";
      case State::before_value:
        return "is the value of " + html_.attribute() + " without quotes around it";
      case State::raw_text:
        if (html_.isScript()) return scriptProblem(modifiers, false);
        return modifierProblem(
            modifiers, html_.isStyle() ? Modifiers(kStyleModifiers) : Modifiers(kHtmlModifiers));
      case State::value:
        return valueProblem(modifiers);
    }
    return std::nullopt;
  }

  std::optional<std::string> valueProblem(const std::vector<std::string_view>& modifiers) {
    const std::string& tag = html_.tag();
    const std::string& attribute = html_.attribute();
    if (!html_.isQuoted()) return "is in the value of " + attribute + " without quotes around it";
    const bool animates =
        (tag.starts_with("animate") || tag == "set") && contains(kAnimated, attribute);
    if (contains(kUncovered, attribute) || animates)
      return "fills " + attribute + ", whose values cannot be made safe by escaping";
    if (tag == "meta" && attribute == "content") {
      if (html_.hasHttpEquiv()) return "fills the content of a meta element with http-equiv";
      refreshes_ = true;  // http-equiv may still come
    }
    const bool is_address = contains(kAddresses, attribute);
    if (html_.inEntity() && (is_address || attribute.starts_with("on")))
      return "stands in an entity in " + attribute + "; write & as &amp;";
    if (attribute.starts_with("on")) return scriptProblem(modifiers, true);
    if (html_.isStyle()) return modifierProblem(modifiers, kStyleModifiers);
    if (!is_address) return modifierProblem(modifiers, kHtmlModifiers);
    return addressProblem(modifiers);
  }

  /// ctemplate checks the scheme of data before any text of an address, and of no other.
  std::optional<std::string> addressProblem(const std::vector<std::string_view>& modifiers) const {
    using Address = HtmlContext::Address;
    const std::string& tag = html_.tag();
    const std::string& attribute = html_.attribute();
    if (loadsCode(tag) && !namesServer(text_.substr(value_, text_.find("{{", value_) - value_)))
      return "decides what a " + tag + " element loads; begin its " + attribute +
             " with an address of your own, up to the / behind the server's name";
    switch (html_.address()) {
      case Address::harmless:
        return modifierProblem(modifiers, kHtmlModifiers);
      case Address::script:
        return "is in an address that may run as a script, in " + attribute +
               "; escaping does not help there";
      case Address::maybe:
        return "may or may not be the beginning of the address in " + attribute +
               "; put the section around the whole address";
      case Address::open:
      case Address::mixed:
        // Without its colon, data makes no scheme.
        if (modifiers.size() == 1 && contains(kQueryModifiers, modifiers.front()))
          return std::nullopt;
        return "may complete the scheme of the address in " + attribute +
               "; put a / or ? before it, or write {{...:u}}";
      case Address::none:
      case Address::data:
        break;
    }
    return modifierProblem(modifiers, kUrlModifiers);
  }

  std::optional<std::string> scriptProblem(const std::vector<std::string_view>& modifiers,
                                           bool needs_modifier) const {
    if (html_.scriptQuote() == '`') return "stands in a template literal; use a text in quotes";
    const bool quoted = html_.scriptQuote() != 0;
    if (needs_modifier && modifiers.empty())
      return std::string("stands in an event handler; say how it is meant: ") +
             (quoted ? "{{...:j}} for text" : "{{...:J=number}} for a number, or quotes around it");
    return modifierProblem(modifiers,
                           quoted ? Modifiers(kScriptTextModifiers) : Modifiers(kScriptModifiers));
  }

  std::optional<std::string> modifierProblem(const std::vector<std::string_view>& modifiers,
                                             Modifiers valid) const {
    for (const std::string_view modifier : modifiers) {
      if (modifier == "none") return "has the modifier 'none'; only an include is not escaped";
      if (!contains(valid, modifier))
        return "has the modifier '" + std::string(modifier) + "', which does not fit " +
               html_.describe() + didYouMean(modifier, valid);
    }
    return std::nullopt;
  }

  const TemplateText& source_;
  std::string_view text_;
  const std::vector<std::string>& includes_;
  CheckedTemplate out_;
  std::size_t at_ = 0;
  std::size_t construct_ = 0;  ///< where the tag, comment or script that is being read begins
  std::size_t value_ = 0;      ///< where the value of the attribute begins
  HtmlContext html_;
  std::vector<Section> sections_;
  bool refreshes_ = false;  ///< the tag is a meta element with data in its content
};

}  // namespace

Result<CheckedTemplate> checkTemplate(const TemplateText& source,
                                      const std::vector<std::string>& includes) {
  return Checker(source, includes).run();
}

}  // namespace larder::site
