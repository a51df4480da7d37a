// PartsHash: a hash over a list of texts; no two lists are the same text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "larder/key.h"

namespace larder::site {

class PartsHash {
 public:
  PartsHash& add(std::string_view part) {
    text_ += std::to_string(part.size());
    text_ += ':';
    text_ += part;
    return *this;
  }
  PartsHash& add(std::uint64_t number) { return add(std::to_string(number)); }
  [[nodiscard]] std::uint64_t value() const { return hash64(text_); }

 private:
  std::string text_;
};

}  // namespace larder::site
