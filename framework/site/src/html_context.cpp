#include "html_context.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

namespace larder::site {
namespace {

bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// What browsers drop from an address: all of these at its ends, some everywhere.
bool isDropped(char c) {
  return static_cast<unsigned char>(c) <= ' ';
}
bool mayBeInScheme(char c) {
  return isLetter(c) || isDigit(c) || c == '+' || c == '-' || c == '.';
}

constexpr std::array<std::string_view, 3> kScriptSchemes = {"javascript:", "vbscript:", "data:"};

struct NamedCharacter {
  std::string_view name;
  char character;
};
/// Those that mean something in a script or in an address.
constexpr std::array<NamedCharacter, 14> kNamedCharacters = {{{"amp", '&'},
                                                              {"apos", '\''},
                                                              {"ast", '*'},
                                                              {"bsol", '\\'},
                                                              {"colon", ':'},
                                                              {"grave", '`'},
                                                              {"gt", '>'},
                                                              {"lt", '<'},
                                                              {"NewLine", '\n'},
                                                              {"num", '#'},
                                                              {"quest", '?'},
                                                              {"quot", '"'},
                                                              {"sol", '/'},
                                                              {"Tab", '\t'}}};
constexpr char kOtherCharacter = '\x7F';

/// Whether `c` is part of the "&name" or "&#number" that `entity` is the beginning of.
bool continuesEntity(std::string_view entity, char c) {
  if (!entity.starts_with("&#"))
    return isLetter(c) || isDigit(c) || (c == '#' && entity.size() == 1);
  const char small = lower(c);
  const bool hex = entity.size() > 2 && lower(entity[2]) == 'x';
  return isDigit(c) || (hex ? small >= 'a' && small <= 'f' : small == 'x' && entity.size() == 2);
}

/// Of "&name" or "&#number", without a semicolon.
char decodeEntity(std::string_view entity) {
  entity.remove_prefix(1);
  if (entity.starts_with('#')) {
    const bool hex = entity.size() > 1 && lower(entity[1]) == 'x';
    entity.remove_prefix(hex ? 2 : 1);
    unsigned code = 0;
    const auto [end, error] =
        std::from_chars(entity.data(), entity.data() + entity.size(), code, hex ? 16 : 10);
    return error == std::errc() && code < 0x80 ? static_cast<char>(code) : kOtherCharacter;
  }
  for (const auto& [name, character] : kNamedCharacters) {
    if (entity == name) return character;
  }
  return entity.empty() ? '&' : kOtherCharacter;
}

bool hasRawText(std::string_view tag) {
  return tag == "script" || tag == "style" || tag == "title" || tag == "textarea";
}

}  // namespace

bool HtmlContext::isScript() const {
  return (state_ == State::raw_text && tag_ == "script") || (state_ == State::value && isHandler());
}

bool HtmlContext::isStyle() const {
  return (state_ == State::raw_text && tag_ == "style") ||
         (state_ == State::value && attribute_ == "style");
}

void HtmlContext::beginScript() {
  script_quote_ = script_comment_ = script_last_ = 0;
  script_escape_ = false;
}

void HtmlContext::feed(char c) {
  switch (state_) {
    case State::text:
      if (c == '<') state_ = State::tag_open;
      break;
    case State::tag_open:
      recent_.clear();
      if (isLetter(c) || c == '/') {
        state_ = State::tag_name;
        end_tag_ = c == '/';
        tag_.assign(end_tag_ ? 0 : 1, lower(c));
        http_equiv_ = false;
        attribute_.clear();
      } else if (c == '!' || c == '?') {
        state_ = State::declaration;
      } else if (c != '<') {
        state_ = State::text;
      }
      break;
    case State::tag_name:
    case State::in_tag:
    case State::attribute:
    case State::before_value:
      feedTag(c);
      break;
    case State::value:
      feedValue(c);
      break;
    case State::declaration:
      recent_ += c;
      if (recent_ == "--") {
        state_ = State::comment;
        recent_.clear();
      } else if (c == '>') {
        state_ = State::text;
      }
      break;
    case State::comment:
      feedComment(c);
      break;
    case State::raw_text:
      feedRawText(c);
      break;
  }
}

void HtmlContext::endTag() {
  state_ = !end_tag_ && hasRawText(tag_) ? State::raw_text : State::text;
  recent_.clear();
  if (state_ == State::raw_text) beginScript();
}

void HtmlContext::feedTag(char c) {
  if (c == '>') {
    endTag();
    return;
  }
  switch (state_) {
    case State::tag_name:
      if (isSpace(c) || c == '/') {
        if (!tag_.empty()) state_ = State::in_tag;
      } else {
        tag_ += lower(c);
      }
      break;
    case State::attribute:
      if (c == '=') {
        state_ = State::before_value;
        http_equiv_ = http_equiv_ || attribute_ == "http-equiv";
        break;
      }
      if (isSpace(c)) {
        attribute_done_ = true;
        break;
      }
      if (c != '/' && !attribute_done_) {
        attribute_ += lower(c);
        break;
      }
      [[fallthrough]];
    case State::in_tag:
      if (isSpace(c) || c == '/') {
        state_ = State::in_tag;
        break;
      }
      state_ = State::attribute;
      attribute_.assign(1, lower(c));
      attribute_done_ = false;
      break;
    default:  // before_value
      if (isSpace(c)) break;
      state_ = State::value;
      address_ = Address::none;
      recent_.clear();
      beginScript();
      quote_ = c == '"' || c == '\'' ? c : '\0';
      if (quote_ == 0) feedValue(c);
      break;
  }
}

void HtmlContext::feedValue(char c) {
  const bool ends = quote_ != 0 ? c == quote_ : isSpace(c);
  if (ends || (quote_ == 0 && c == '>')) {
    state_ = State::in_tag;
    quote_ = 0;
    if (c == '>') endTag();
    return;
  }
  if (!isHandler() && isDecided()) return;
  if (!recent_.empty()) {
    if (continuesEntity(recent_, c)) {
      recent_ += c;
      return;
    }
    feedDecoded(decodeEntity(std::exchange(recent_, {})));
    if (c == ';') return;
  }
  if (c == '&') {
    recent_ = c;
  } else {
    feedDecoded(c);
  }
}

void HtmlContext::feedDecoded(char c) {
  if (isHandler()) {
    feedScript(c);
  } else {
    feedAddress(c);
  }
}

void HtmlContext::feedAddress(char c) {
  switch (address_) {
    case Address::none:
    case Address::maybe:
      address_ = Address::open;
      scheme_.clear();
      [[fallthrough]];
    case Address::open:
      if (isDropped(c)) break;
      scheme_ += lower(c);
      if (std::find(kScriptSchemes.begin(), kScriptSchemes.end(), scheme_) !=
          kScriptSchemes.end()) {
        address_ = Address::script;
      } else if (std::none_of(kScriptSchemes.begin(), kScriptSchemes.end(),
                              [this](auto scheme) { return scheme.starts_with(scheme_); })) {
        address_ = Address::harmless;
      }
      break;
    case Address::data:
    case Address::mixed:
      if (c == ':') {
        address_ = Address::script;
      } else {
        address_ = mayBeInScheme(c) || isDropped(c) ? Address::mixed : Address::harmless;
      }
      break;
    case Address::harmless:
    case Address::script:
      break;
  }
}

void HtmlContext::insertData() {
  if (address_ == Address::none) address_ = Address::data;
  if (address_ != Address::data && !isDecided()) address_ = Address::mixed;
}

void HtmlContext::mayBe(const HtmlContext& before) {
  const Address other = before.address_;
  if (address_ == other && (address_ != Address::open || scheme_ == before.scheme_)) return;
  const auto both = [&](std::initializer_list<Address> among) {
    return std::count(among.begin(), among.end(), address_) > 0 &&
           std::count(among.begin(), among.end(), other) > 0;
  };
  if (address_ == Address::script || other == Address::script) {
    address_ = Address::script;
  } else if (both({Address::none, Address::maybe, Address::harmless})) {
    address_ = Address::maybe;
  } else {
    address_ = both({Address::none, Address::data}) ? Address::data : Address::mixed;
  }
}

void HtmlContext::feedComment(char c) {
  recent_ += c;
  if (recent_.size() > 3) recent_.erase(0, recent_.size() - 3);
  if (recent_ == "-->") {
    state_ = State::text;
    recent_.clear();
  }
}

void HtmlContext::feedRawText(char c) {
  // The end tag ends a script wherever it stands, in a text of JavaScript, too.
  if (c == '<') {
    recent_ = "<";
  } else if (!recent_.empty()) {
    const std::string end = "</" + tag_;
    if (recent_.size() < end.size()) {
      recent_ += lower(c);
      if (!end.starts_with(recent_)) recent_.clear();
    } else if (isSpace(c) || c == '/' || c == '>') {
      state_ = State::in_tag;
      end_tag_ = true;
      recent_.clear();
      if (c == '>') endTag();
      return;
    } else {
      recent_.clear();
    }
  }
  if (tag_ == "script") feedScript(c);
}

void HtmlContext::feedScript(char c) {
  const char last = std::exchange(script_last_, c);
  if (script_comment_ == '/') {
    if (c == '\n') script_comment_ = 0;
  } else if (script_comment_ == '*') {
    if (last == '*' && c == '/') script_comment_ = 0;
  } else if (script_escape_) {
    script_escape_ = false;
  } else if (script_quote_ != 0) {
    if (c == '\\') script_escape_ = true;
    if (c == script_quote_ || (c == '\n' && script_quote_ != '`')) script_quote_ = 0;
  } else if (c == '"' || c == '\'' || c == '`') {
    script_quote_ = c;
  } else if (last == '/' && (c == '/' || c == '*')) {
    script_comment_ = c;
    script_last_ = 0;
  }
}

std::string HtmlContext::describe() const {
  switch (state_) {
    case State::text:
      return "in text";
    case State::tag_open:
    case State::tag_name:
      return "in the name of a tag";
    case State::in_tag:
      return "in the tag " + tag_;
    case State::attribute:
      return "in the name of an attribute";
    case State::before_value:
      return "before the value of " + attribute_;
    case State::value:
      return "in the value of " + attribute_;
    case State::comment:
      return "in a comment";
    case State::declaration:
      return "in a declaration";
    case State::raw_text:
      return "in " + tag_ + (script_quote_ != 0 ? ", in a text" : "");
  }
  return {};
}

bool sameContext(const HtmlContext& a, const HtmlContext& b) {
  using State = HtmlContext::State;
  if (a.state_ != b.state_) return false;
  switch (a.state_) {
    case State::text:
      return true;
    case State::value:
      return a.tag_ == b.tag_ && a.attribute_ == b.attribute_ && a.quote_ == b.quote_ &&
             a.script_quote_ == b.script_quote_ && a.script_comment_ == b.script_comment_;
    case State::raw_text:
      return a.tag_ == b.tag_ && a.script_quote_ == b.script_quote_ &&
             a.script_comment_ == b.script_comment_;
    case State::attribute:
    case State::before_value:
      return a.tag_ == b.tag_ && a.attribute_ == b.attribute_ &&
             a.attribute_done_ == b.attribute_done_;
    default:
      return a.tag_ == b.tag_;
  }
}

}  // namespace larder::site
