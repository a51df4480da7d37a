#include "template_dictionary.h"

#include <array>
#include <charconv>
#include <memory>

#include "template_check.h"

namespace larder::site {
namespace {

std::string_view viewOf(const ctemplate::TemplateString& text) {
  return {text.data(), text.size()};
}

ctemplate::TemplateString stringOf(std::string_view text) {
  return {text.data(), text.size()};
}

template <class Number>
std::string numberText(Number number) {
  std::array<char, 40> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), result.ptr};
}

bool isThere(const Node& node) {
  switch (node.type()) {
    case Node::Type::null:
      return false;
    case Node::Type::boolean:
      return node.boolean();
    case Node::Type::integer:
    case Node::Type::real:
      return true;
    case Node::Type::text:
    case Node::Type::bytes:
      return !node.text().empty();
    case Node::Type::list:
    case Node::Type::map:
      return node.size() > 0;
  }
  return false;
}

}  // namespace

/// The items of a list, one map, or nothing.
class NodeDictionary::Items final : public Iterator {
 public:
  Items(const NodeDictionary& outer, const Node* node)
      : node_(node), item_(outer.expansion_, *outer.node_, &outer) {
    if (node != nullptr) count_ = node->type() == Node::Type::list ? node->size() : 1;
  }
  [[nodiscard]] bool HasNext() const override { return at_ < count_; }
  const TemplateDictionaryInterface& Next() override {
    item_.node_ = node_->type() == Node::Type::list ? &node_->at(at_) : node_;
    ++at_;
    return item_;
  }

 private:
  const Node* node_;
  NodeDictionary item_;
  std::size_t count_ = 0;
  std::size_t at_ = 0;
};

const Node* NodeDictionary::find(std::string_view name) const {
  for (const NodeDictionary* level = this; level != nullptr; level = level->outer_) {
    const Node& node = *level->node_;
    if (node.type() == Node::Type::map) {
      if (node.has(name)) return &node[name];
    } else if (name == "value") {
      return &node;
    }
  }
  return nullptr;
}

ctemplate::TemplateString NodeDictionary::GetValue(
    const ctemplate::TemplateString& variable) const {
  const std::string_view name = viewOf(variable);
  if (name.starts_with(kIncludePrefix)) {
    const auto body = expansion_.includes.find(name.substr(kIncludePrefix.size()));
    return stringOf(body == expansion_.includes.end() ? std::string_view() : body->second);
  }
  if (name == "BI_SPACE") return stringOf(" ");
  if (name == "BI_NEWLINE") return stringOf("\n");
  const Node* node = find(name);
  if (node == nullptr) return stringOf("");
  switch (node->type()) {
    case Node::Type::null:
      break;
    case Node::Type::boolean:
      return stringOf(node->boolean() ? "true" : "false");
    case Node::Type::integer:
      return stringOf(expansion_.texts.emplace_back(numberText(node->integer())));
    case Node::Type::real:
      return stringOf(expansion_.texts.emplace_back(numberText(node->real())));
    case Node::Type::text:
    case Node::Type::bytes:
      return stringOf(node->text());
    case Node::Type::list:
    case Node::Type::map:
      if (expansion_.misused.empty()) expansion_.misused = name;
      break;
  }
  return stringOf("");
}

bool NodeDictionary::IsHiddenSection(const ctemplate::TemplateString& name) const {
  return !IsUnhiddenSection(name);
}

bool NodeDictionary::IsUnhiddenSection(const ctemplate::TemplateString& name) const {
  std::string_view key = viewOf(name);
  const bool inverted = key.starts_with(kInvertedPrefix);
  if (inverted) key.remove_prefix(kInvertedPrefix.size());
  const Node* node = find(key);
  return inverted != (node != nullptr && isThere(*node));
}

NodeDictionary::Iterator* NodeDictionary::CreateSectionIterator(
    const ctemplate::TemplateString& section) const {
  const Node* node = find(viewOf(section));
  const bool has_items =
      node != nullptr && (node->type() == Node::Type::list || node->type() == Node::Type::map);
  // Without items, ctemplate shows the section once, with the keys of this one.
  return std::make_unique<Items>(*this, has_items ? node : nullptr).release();
}

bool NodeDictionary::IsHiddenTemplate(const ctemplate::TemplateString&) const {
  return true;
}

const char* NodeDictionary::GetIncludeTemplateName(const ctemplate::TemplateString&, int) const {
  return "";
}

NodeDictionary::Iterator* NodeDictionary::CreateTemplateIterator(
    const ctemplate::TemplateString&) const {
  return std::make_unique<Items>(*this, nullptr).release();
}

void NodeDictionary::DumpToString(std::string*, int) const {}

}  // namespace larder::site
