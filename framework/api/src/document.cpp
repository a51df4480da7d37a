#include "larder/document.h"

#include <algorithm>

#include "heap_size.h"

namespace larder {

bool operator==(const Node& a, const Node& b) noexcept {
  if (a.type_ != b.type_) return false;
  switch (a.type_) {
    case Node::Type::null:
      return true;
    case Node::Type::boolean:
    case Node::Type::integer:
      return a.integer_ == b.integer_;
    case Node::Type::real:
      return a.real_ == b.real_;
    case Node::Type::text:
    case Node::Type::bytes:
      return a.text() == b.text();
    case Node::Type::list:
      return a.count_ == b.count_ && std::equal(a.items_, a.items_ + a.count_, b.items_);
    case Node::Type::map:
      return a.count_ == b.count_ &&
             std::equal(a.items_, a.items_ + 2 * std::size_t{a.count_}, b.items_);
  }
  return false;
}

Tree Tree::of(const Node& node) {
  switch (node.type()) {
    case Node::Type::null:
      return {};
    case Node::Type::boolean:
      return node.boolean();
    case Node::Type::integer:
      return node.integer();
    case Node::Type::real:
      return node.real();
    case Node::Type::text:
      return node.text();
    case Node::Type::bytes:
      return Bytes{std::string(node.text())};
    case Node::Type::list: {
      List items;
      items.reserve(node.size());
      for (std::size_t i = 0; i < node.size(); ++i) items.push_back(of(node.at(i)));
      return Tree(std::move(items));
    }
    case Node::Type::map: {
      Map items;
      items.reserve(node.size());
      for (std::size_t i = 0; i < node.size(); ++i)
        items.emplace_back(node.keyAt(i), of(node.valueAt(i)));
      return Tree(std::move(items));
    }
  }
  return {};
}

Tree& Tree::set(std::string_view key, Tree value) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Map{};
  auto& items = std::get<Map>(value_);
  const auto it =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == key; });
  if (it != items.end()) {
    it->second = std::move(value);
  } else {
    items.emplace_back(key, std::move(value));
  }
  return *this;
}

Tree& Tree::add(Tree value) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = List{};
  std::get<List>(value_).push_back(std::move(value));
  return *this;
}

namespace {

struct Need {
  std::size_t nodes = 0;
  std::size_t chars = 0;
};

void measure(const Tree& tree, Need& need) {
  if (const auto* text = std::get_if<std::string>(&tree.value())) {
    need.chars += text->size();
  } else if (const auto* bytes = std::get_if<Tree::Bytes>(&tree.value())) {
    need.chars += bytes->data.size();
  } else if (const auto* list = std::get_if<Tree::List>(&tree.value())) {
    need.nodes += list->size();
    for (const auto& item : *list) measure(item, need);
  } else if (const auto* map = std::get_if<Tree::Map>(&tree.value())) {
    need.nodes += 2 * map->size();
    for (const auto& [key, value] : *map) {
      need.chars += key.size();
      measure(value, need);
    }
  }
}

/// Where a document is laid out: nodes, then characters, in one block.
struct Arena {
  Node* next_node = nullptr;
  char* next_char = nullptr;

  std::string_view copy(std::string_view text) noexcept {
    if (text.empty()) return {};
    std::memcpy(next_char, text.data(), text.size());
    const std::string_view stored(next_char, text.size());
    next_char += text.size();
    return stored;
  }

  Node place(const Tree& tree) noexcept {
    struct Visitor {
      Arena& arena;
      Node operator()(std::nullptr_t) const noexcept { return Node::ofNull(); }
      Node operator()(bool v) const noexcept { return Node::ofBoolean(v); }
      Node operator()(std::int64_t v) const noexcept { return Node::ofInteger(v); }
      Node operator()(double v) const noexcept { return Node::ofReal(v); }
      Node operator()(const std::string& v) const noexcept { return Node::ofText(arena.copy(v)); }
      Node operator()(const Tree::Bytes& v) const noexcept {
        return Node::ofBytes(arena.copy(v.data));
      }
      Node operator()(const Tree::List& v) const noexcept {
        Node* items = std::exchange(arena.next_node, arena.next_node + v.size());
        for (std::size_t i = 0; i < v.size(); ++i) items[i] = arena.place(v[i]);
        return Node::ofList(items, static_cast<std::uint32_t>(v.size()));
      }
      Node operator()(const Tree::Map& v) const noexcept {
        Node* items = std::exchange(arena.next_node, arena.next_node + 2 * v.size());
        for (std::size_t i = 0; i < v.size(); ++i) {
          items[2 * i] = Node::ofText(arena.copy(v[i].first));
          items[2 * i + 1] = arena.place(v[i].second);
        }
        return Node::ofMap(items, static_cast<std::uint32_t>(v.size()));
      }
    };
    return std::visit(Visitor{*this}, tree.value());
  }
};

}  // namespace

Document Document::from(const Tree& tree) {
  Need need;
  measure(tree, need);
  const auto blocks = need.nodes + (need.chars + sizeof(Node) - 1) / sizeof(Node);
  auto storage = std::make_shared<Node[]>(blocks);
  Arena arena{storage.get(), reinterpret_cast<char*>(storage.get() + need.nodes)};
  const Node root = arena.place(tree);
  constexpr std::size_t kShared = 24;  // what make_shared puts before an array
  return {std::move(storage), root, heapBytes(blocks * sizeof(Node) + kShared)};
}

}  // namespace larder
