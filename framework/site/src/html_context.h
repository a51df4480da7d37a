// HtmlContext: where in an HTML page a template's text is, as far as it matters for what may stand
// there: the states of a tokenizer for text, tags, attributes, comments, scripts.
//
// Follows the HTML standard's tokenization (section 13.2.5) in coarse steps. It is there to refuse,
// not to escape; ctemplate's own parser decides how a value is escaped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace larder::site {

class HtmlContext {
 public:
  enum class State : std::uint8_t {
    text,
    tag_open,      ///< after <
    tag_name,      ///< of a start or end tag
    in_tag,        ///< between attributes
    attribute,     ///< in an attribute's name, or after it
    before_value,  ///< after =
    value,
    comment,
    declaration,  ///< <!doctype ...> or <? ... >
    raw_text,     ///< in script, style, title, textarea
  };

  void feed(char c);

  [[nodiscard]] State state() const { return state_; }
  /// Lower case; of the tag that is being read, or whose raw text this is.
  [[nodiscard]] const std::string& tag() const { return tag_; }
  [[nodiscard]] const std::string& attribute() const { return attribute_; }
  [[nodiscard]] bool isQuoted() const { return quote_ != 0; }
  /// What browsers may make of a value that is an address, by what stands of it before here.
  enum class Address : std::uint8_t {
    none,      ///< nothing stands there
    maybe,     ///< nothing, or the beginning of a harmless one
    open,      ///< it may still become one that runs as a script
    data,      ///< data
    mixed,     ///< data and text, which may be its scheme together
    harmless,  ///< whatever follows
    script,    ///< javascript:, vbscript: or data:
  };
  [[nodiscard]] Address address() const { return address_; }
  /// In an entity of a value, where it matters which: in an event handler or before a scheme.
  [[nodiscard]] bool inEntity() const {
    return state_ == State::value && !recent_.empty() && (isHandler() || !isDecided());
  }
  /// In a script or an event handler.
  [[nodiscard]] bool isScript() const;
  [[nodiscard]] bool isStyle() const;
  /// The quote of the text in JavaScript, or 0.
  [[nodiscard]] char scriptQuote() const { return script_quote_; }
  /// The tag that is being read has an attribute http-equiv.
  [[nodiscard]] bool hasHttpEquiv() const { return http_equiv_; }
  /// Data stands here.
  void insertData();
  /// The attribute that is being read has no value.
  void endAttribute() { state_ = State::in_tag; }
  /// The text since `before` may be left out.
  void mayBe(const HtmlContext& before);

  /// "in the value of href", for messages.
  [[nodiscard]] std::string describe() const;
  /// Whether the same text means the same from here on, but for whether a value has begun.
  friend bool sameContext(const HtmlContext& a, const HtmlContext& b);

 private:
  [[nodiscard]] bool isDecided() const {
    return address_ == Address::harmless || address_ == Address::script;
  }
  [[nodiscard]] bool isHandler() const { return attribute_.starts_with("on"); }
  void endTag();
  void feedTag(char c);
  void feedValue(char c);
  void feedDecoded(char c);
  void feedAddress(char c);
  void feedRawText(char c);
  void feedComment(char c);
  void feedScript(char c);
  void beginScript();

  State state_ = State::text;
  std::string tag_;
  bool end_tag_ = false;
  std::string attribute_;
  bool attribute_done_ = false;
  char quote_ = 0;
  Address address_ = Address::none;
  std::string scheme_;  ///< of the address, lower case, while it is open
  bool http_equiv_ = false;
  std::string recent_;  ///< last characters, to find the end of a comment, raw text or entity

  char script_quote_ = 0;
  bool script_escape_ = false;
  char script_comment_ = 0;  ///< '/' to the end of the line, '*' to its own end
  char script_last_ = 0;
};

}  // namespace larder::site
