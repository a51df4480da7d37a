// Parameters of a query, of a form body and of Cookie fields.
//
//   cache::Params query;
//   if (auto s = query.addForm("a=1&b&a=%C3%A9"); s != cache::ParamStatus::ok) return
//   bad(describe(s)); query.first("a");     // "1" query.first("b");     // "": present and empty;
//   "b=" is the same query.first("c");     // std::nullopt: absent is not empty for (const
//   cache::Param& p : query) ...   // in the order in which they were sent
//
// Names and values are decoded exactly once. What needs no decoding is a view into the text given,
// which must outlive the object; the rest is kept inside. An object keeps its memory over clear(),
// so that one reused for every request does not allocate.
//
// One thread at a time. Movable; views into it survive a move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace larder::cache {

struct Param {
  std::string_view name;
  std::string_view value;
  friend bool operator==(const Param&, const Param&) = default;
};

enum class ParamStatus : std::uint8_t {
  ok,
  badEscape,  // "%", "%2", "%zz"
  nul,        // a NUL byte, raw or as %00
  badUtf8,    // bytes that are not UTF-8 once decoded
  tooMany,    // more parameters than ParamLimits::count
  tooLong,    // more text than ParamLimits::bytes
};

// Static text for an error page or a log line.
std::string_view describe(ParamStatus status);

struct ParamLimits {
  std::size_t count = 1000;          // parameters or cookies held in one object
  std::size_t bytes = 256 * 1024UL;  // of undecoded text in one call
};

class Params {
 public:
  using const_iterator = std::vector<Param>::const_iterator;

  // Appends the pairs of a query (the text after '?') or of an application/x-www-form-urlencoded
  // body: pairs apart by '&', '+' is a space, a pair without '=' has the value "", empty pairs are
  // skipped. After any status but ok the object holds nothing.
  ParamStatus addForm(std::string_view text, const ParamLimits& limits = {});

  // Appends the cookies of one Cookie field value (RFC 6265, 5.4; read leniently): pairs apart by
  // ';', white space around them dropped, one pair of quotes around a value dropped, nothing
  // decoded, a piece without '=' or without a name skipped.
  ParamStatus addCookies(std::string_view fieldValue, const ParamLimits& limits = {});

  void clear();

  // The first value of that name; nullopt when the parameter was not sent.
  std::optional<std::string_view> first(std::string_view name) const;
  // How often the parameter was sent.
  std::size_t count(std::string_view name) const;

  const_iterator begin() const { return params_.begin(); }
  const_iterator end() const { return params_.end(); }
  std::size_t size() const { return params_.size(); }
  bool empty() const { return params_.empty(); }

 private:
  struct Store {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };

  ParamStatus fail(ParamStatus status);
  ParamStatus decode(std::string_view text, std::size_t room, std::string_view& decoded);
  char* reserve(std::size_t room);

  std::vector<Param> params_;
  // Decoded text. A store never grows, so that views into it stay valid.
  std::vector<Store> stores_;
  std::size_t currentStore_ = 0;
  std::size_t used_ = 0;  // bytes of stores_[currentStore_]
};

}  // namespace larder::cache
