#include "content_json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "larder/site/store.h"

namespace larder::site {

namespace {

void appendText(std::string& out, std::string_view text) {
  // Quoting and the check for UTF-8 are the library's.
  try {
    out += nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw StoreError("text that is not UTF-8 cannot be a property");
  }
}

void append(std::string& out, const Node& node) {
  switch (node.type()) {
    case Node::Type::null:
      out += "null";
      return;
    case Node::Type::boolean:
      out += node.boolean() ? "true" : "false";
      return;
    case Node::Type::integer:
      out += std::to_string(node.integer());
      return;
    case Node::Type::real: {
      if (!std::isfinite(node.real()))
        throw StoreError("a number that is not finite cannot be a property");
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof digits, node.real()).ptr;
      const std::string_view text(digits, static_cast<std::size_t>(end - digits));
      out += text;
      if (text.find_first_of(".e") == std::string_view::npos) out += ".0";  // stays a real
      return;
    }
    case Node::Type::text:
      appendText(out, node.text());
      return;
    case Node::Type::bytes:
      throw StoreError("bytes cannot be a property; store them as text");
    case Node::Type::list:
      out += '[';
      for (std::size_t i = 0; i < node.size(); ++i) {
        if (i > 0) out += ',';
        append(out, node.at(i));
      }
      out += ']';
      return;
    case Node::Type::map:
      out += '{';
      for (std::size_t i = 0; i < node.size(); ++i) {
        if (i > 0) out += ',';
        appendText(out, node.keyAt(i));
        out += ':';
        try {
          append(out, node.valueAt(i));
        } catch (const StoreError& error) {
          throw StoreError(std::string(node.keyAt(i)) + ": " + error.what());
        }
      }
      out += '}';
      return;
  }
}

/// Builds the tree while the text is parsed, in the order of the text.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return value({}); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(std::int64_t{v}); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return value(static_cast<double>(v));
    return value(static_cast<std::int64_t>(v));
  }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool string(string_t& v) override { return value(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return start(Tree::map()); }
  bool start_array(std::size_t) override { return start(Tree::list()); }
  bool key(string_t& v) override {
    open_.back().key = std::move(v);
    return true;
  }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    error_ = e.what();
    return false;
  }

  Tree take() { return std::move(root_); }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  static constexpr std::size_t kDepth = 100;
  struct Level {
    Tree tree;
    std::string key;
  };
  bool start(Tree tree) {
    if (open_.size() >= kDepth) {
      error_ = "nested too deep";
      return false;
    }
    open_.push_back({std::move(tree), {}});
    return true;
  }
  bool end() {
    Tree done = std::move(open_.back().tree);
    open_.pop_back();
    return value(std::move(done));
  }
  bool value(Tree v) {
    if (open_.empty()) {
      root_ = std::move(v);
    } else if (std::holds_alternative<Tree::Map>(open_.back().tree.value())) {
      open_.back().tree.set(open_.back().key, std::move(v));
    } else {
      open_.back().tree.add(std::move(v));
    }
    return true;
  }

  Tree root_;
  std::vector<Level> open_;
  std::string error_;
};

}  // namespace

std::string encodeJson(const Node& node) {
  std::string out;
  append(out, node);
  return out;
}

Document decodeJson(std::string_view json) {
  TreeBuilder builder;
  if (!nlohmann::json::sax_parse(json, &builder))
    throw StoreError("not a JSON value: " + builder.error());
  return Document::from(builder.take());
}

}  // namespace larder::site
