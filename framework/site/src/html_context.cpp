#include "html_context.h"

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

bool hasRawText(std::string_view tag) {
  return tag == "script" || tag == "style" || tag == "title" || tag == "textarea";
}

}  // namespace

bool HtmlContext::isScript() const {
  return (state_ == State::raw_text && tag_ == "script") ||
         (state_ == State::value && attribute_.starts_with("on"));
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
      begun_ = Begun::no;
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
  begun_ = Begun::yes;
  if (!attribute_.starts_with("on")) return;
  // Quotes of the script may be written as entities.
  if (c == '&') {
    recent_ = "&";
    return;
  }
  if (recent_.empty()) {
    feedScript(c);
    return;
  }
  recent_ += c;
  if (c != ';') return;
  if (recent_ == "&quot;" || recent_ == "&#34;" || recent_ == "&#x22;") feedScript('"');
  if (recent_ == "&apos;" || recent_ == "&#39;" || recent_ == "&#x27;") feedScript('\'');
  recent_.clear();
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
