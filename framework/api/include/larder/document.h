// Document: an immutable typed tree (null, boolean, integer, real, text, bytes, list, map), read
// through small Node views. What scripts, SQL methods and model views return, and what MessagePack
// values decode to without copying a string.
//
//   Tree t = Tree::map();
//   t.set("title", "dpkg").set("tags", Tree::list({"debian", "packages"}));
//   Document d = Document::from(t);
//   d.root()["title"].text();          // "dpkg"
//
// Thread-safe to read from any number of threads. A Node is valid as long as its Document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace larder {

/// One value of the tree: 16 bytes, points into its document's arena.
class Node {
 public:
  enum class Type : std::uint8_t { null, boolean, integer, real, text, bytes, list, map };

  constexpr Node() noexcept = default;
  static Node ofNull() noexcept { return {}; }
  static Node ofBoolean(bool v) noexcept { return withInteger(Type::boolean, v ? 1 : 0); }
  static Node ofInteger(std::int64_t v) noexcept { return withInteger(Type::integer, v); }
  static Node ofReal(double v) noexcept {
    Node n;
    n.type_ = Type::real;
    n.real_ = v;
    return n;
  }
  /// The bytes must outlive the node.
  static Node ofText(std::string_view v) noexcept { return withChars(Type::text, v); }
  static Node ofBytes(std::string_view v) noexcept { return withChars(Type::bytes, v); }
  /// `items` must outlive the node; a map's items alternate key (text) and value, `count` counts
  /// pairs.
  static Node ofList(const Node* items, std::uint32_t count) noexcept {
    return withItems(Type::list, items, count);
  }
  static Node ofMap(const Node* items, std::uint32_t count) noexcept {
    return withItems(Type::map, items, count);
  }

  [[nodiscard]] Type type() const noexcept { return type_; }
  [[nodiscard]] bool isNull() const noexcept { return type_ == Type::null; }
  /// Conversions never fail: a node of another type gives the fallback.
  [[nodiscard]] bool boolean(bool fallback = false) const noexcept {
    return type_ == Type::boolean ? integer_ != 0 : fallback;
  }
  [[nodiscard]] std::int64_t integer(std::int64_t fallback = 0) const noexcept {
    return type_ == Type::integer ? integer_ : fallback;
  }
  [[nodiscard]] double real(double fallback = 0) const noexcept {
    if (type_ == Type::real) return real_;
    return type_ == Type::integer ? static_cast<double>(integer_) : fallback;
  }
  /// Text or bytes.
  [[nodiscard]] std::string_view text(std::string_view fallback = {}) const noexcept {
    return type_ == Type::text || type_ == Type::bytes ? std::string_view(chars_, count_)
                                                       : fallback;
  }
  /// Items of a list, pairs of a map, else 0.
  [[nodiscard]] std::size_t size() const noexcept {
    return type_ == Type::list || type_ == Type::map ? count_ : 0;
  }
  /// Item of a list; a null node when out of range or no list.
  [[nodiscard]] const Node& at(std::size_t index) const noexcept {
    return type_ == Type::list && index < count_ ? items_[index] : nothing();
  }
  /// Value of a map's key (the first of that name); a null node when absent or no map.
  [[nodiscard]] const Node& operator[](std::string_view key) const noexcept {
    if (type_ == Type::map) {
      for (std::uint32_t i = 0; i < count_; ++i) {
        if (items_[2 * std::size_t{i}].text() == key) return items_[2 * std::size_t{i} + 1];
      }
    }
    return nothing();
  }
  [[nodiscard]] bool has(std::string_view key) const noexcept {
    return &(*this)[key] != &nothing();
  }
  /// Key and value of the map's pair `index` < size().
  [[nodiscard]] std::string_view keyAt(std::size_t index) const noexcept {
    return items_[2 * index].text();
  }
  [[nodiscard]] const Node& valueAt(std::size_t index) const noexcept {
    return items_[2 * index + 1];
  }
  /// Deep equality: types and values; maps compare in order.
  friend bool operator==(const Node& a, const Node& b) noexcept;

 private:
  static const Node& nothing() noexcept {
    static constexpr Node kNothing{};
    return kNothing;
  }
  static Node withInteger(Type type, std::int64_t v) noexcept {
    Node n;
    n.type_ = type;
    n.integer_ = v;
    return n;
  }
  static Node withChars(Type type, std::string_view v) noexcept {
    Node n;
    n.type_ = type;
    n.count_ = static_cast<std::uint32_t>(v.size());
    n.chars_ = v.data();
    return n;
  }
  static Node withItems(Type type, const Node* items, std::uint32_t count) noexcept {
    Node n;
    n.type_ = type;
    n.count_ = count;
    n.items_ = items;
    return n;
  }

  Type type_ = Type::null;
  std::uint32_t count_ = 0;
  union {
    std::int64_t integer_ = 0;
    double real_;
    const char* chars_;
    const Node* items_;
  };
};

/// A mutable tree to build a Document from. Not for the hit path.
class Tree {
 public:
  using List = std::vector<Tree>;
  using Map = std::vector<std::pair<std::string, Tree>>;
  struct Bytes {
    std::string data;
  };

  Tree() = default;
  Tree(std::nullptr_t) {}
  Tree(bool v) : value_(v) {}
  Tree(int v) : value_(std::int64_t{v}) {}
  Tree(std::int64_t v) : value_(v) {}
  Tree(double v) : value_(v) {}
  Tree(const char* v) : value_(std::string(v)) {}
  Tree(std::string_view v) : value_(std::string(v)) {}
  Tree(std::string v) : value_(std::move(v)) {}
  Tree(Bytes v) : value_(std::move(v)) {}
  static Tree list(std::initializer_list<Tree> items = {}) { return Tree(List(items)); }
  static Tree list(List items) { return Tree(std::move(items)); }
  static Tree map() { return Tree(Map{}); }
  /// The keys must differ.
  static Tree map(Map items) { return Tree(std::move(items)); }
  /// A deep copy of a node.
  static Tree of(const Node& node);

  /// Sets or replaces a key; the tree becomes a map if it was null.
  Tree& set(std::string_view key, Tree value);
  /// Appends to a list; the tree becomes a list if it was null.
  Tree& add(Tree value);

  using Variant =
      std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Bytes, List, Map>;
  [[nodiscard]] const Variant& value() const noexcept { return value_; }

 private:
  explicit Tree(List items) : value_(std::move(items)) {}
  explicit Tree(Map items) : value_(std::move(items)) {}
  Variant value_ = nullptr;
};

/// Shares one immutable arena; copying is cheap.
class Document {
 public:
  /// The null document.
  Document() = default;
  /// `root` and all it points to live in what `storage` keeps alive; `bytes` is their size for
  /// accounting.
  Document(std::shared_ptr<const void> storage, Node root, std::size_t bytes) noexcept
      : storage_(std::move(storage)), root_(root), bytes_(bytes) {}
  static Document from(const Tree& tree);

  [[nodiscard]] const Node& root() const noexcept { return root_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// A document whose root is a node of this one; shares the arena.
  [[nodiscard]] Document part(const Node& node) const noexcept { return {storage_, node, bytes_}; }
  friend bool operator==(const Document& a, const Document& b) noexcept {
    return a.root_ == b.root_;
  }

 private:
  std::shared_ptr<const void> storage_;
  Node root_;
  std::size_t bytes_ = 0;
};

}  // namespace larder
