#include "larder/site/sql_method.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sql_method_text.h"

namespace larder::site {
namespace {

/// What another view passed, as the type; nothing if it cannot be that.
std::optional<Tree> convertNode(SqlType type, const Node& node) {
  switch (node.type()) {
    case Node::Type::text:
      return convertSqlText(type, node.text());
    case Node::Type::boolean:
      if (type == SqlType::boolean) return Tree(node.boolean());
      return std::nullopt;
    case Node::Type::integer:
      if (type == SqlType::integer) return Tree(node.integer());
      if (type == SqlType::real) return Tree(node.real());
      if (type == SqlType::text) return Tree(std::to_string(node.integer()));
      if (node.integer() == 0 || node.integer() == 1) return Tree(node.integer() == 1);
      return std::nullopt;
    case Node::Type::real:
      if (type == SqlType::real && std::isfinite(node.real())) return Tree(node.real());
      // A whole number that some calculation made a real one; 2^53 bounds what it can hold exactly.
      if (type == SqlType::integer && node.real() == std::trunc(node.real()) &&
          std::abs(node.real()) <= 9007199254740992.0)
        return Tree(static_cast<std::int64_t>(node.real()));
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

class SqlMethod final : public View {
 public:
  SqlMethod(std::string name, SqlText text) : name_(std::move(name)), text_(std::move(text)) {}

  Value render(RenderContext& context) override {
    const Node& first = context.arg(0);
    Arguments arguments;
    if (first.type() == Node::Type::map) {
      const Document named = Document::from(Tree::of(first));
      refuseUnknown(named.root());
      for (const SqlParameter& parameter : text_.parameters)
        add(arguments, parameter, named.root()[parameter.name]);
    } else if (!first.isNull()) {
      for (std::size_t i = 0; i < text_.parameters.size(); ++i)
        add(arguments, text_.parameters[i], context.arg(i));
    } else {
      for (const SqlParameter& parameter : text_.parameters) {
        const auto value = context.param(parameter.name);
        add(arguments, parameter, value ? Node::ofText(*value) : Node());
      }
    }
    return context.query(text_.statement, arguments, text_.limits);
  }

 private:
  static void add(Arguments& arguments, const SqlParameter& parameter, const Node& given) {
    if (given.isNull()) {
      if (!parameter.fallback)
        throw HttpError{400, "parameter '" + parameter.name + "' is missing"};
      arguments.emplace_back(parameter.name, *parameter.fallback);
      return;
    }
    std::optional<Tree> value = convertNode(parameter.type, given);
    if (!value)
      throw HttpError{400, "parameter '" + parameter.name + "' has to be of type " +
                               std::string(sqlTypeName(parameter.type))};
    arguments.emplace_back(parameter.name, std::move(*value));
  }

  void refuseUnknown(const Node& named) const {
    for (std::size_t i = 0; i < named.size(); ++i) {
      const bool known =
          std::any_of(text_.parameters.begin(), text_.parameters.end(),
                      [&](const SqlParameter& p) { return p.name == named.keyAt(i); });
      if (!known)
        throw std::runtime_error(name_ + ": there is no parameter '" + std::string(named.keyAt(i)) +
                                 "'");
    }
  }

  std::string name_;
  SqlText text_;
};

}  // namespace

Result<std::shared_ptr<View>> makeSqlMethod(SqlSource source) {
  Result<SqlText> text = parseSqlText(source.name, source.text);
  if (!text) return text.error();
  return std::shared_ptr<View>(
      std::make_shared<SqlMethod>(std::move(source.name), std::move(*text)));
}

}  // namespace larder::site
