#include "larder/http/message.h"

namespace larder::http {

std::string_view RequestHead::host() const noexcept {
  const std::string_view all = authority();
  // A colon inside brackets belongs to an IPv6 address.
  const std::size_t from = all.find(']');
  const std::size_t colon = all.find(':', from == std::string_view::npos ? 0 : from);
  return all.substr(0, colon);
}

std::optional<std::string_view> RequestHead::field(std::string_view name) const noexcept {
  for (const Field& f : fields_) {
    if (f.name.size == name.size() && equalsIgnoringCase(text(f.name), name)) return text(f.value);
  }
  return std::nullopt;
}

void RequestHead::clear() noexcept {
  base_ = nullptr;
  fields_.clear();
  method_name_ = target_ = path_ = query_ = authority_ = {};
  content_length_ = 0;
  size_ = 0;
  method_ = Method::other;
  framing_ = Framing::none;
  minor_version_ = 1;
  keep_alive_ = true;
  expects_continue_ = false;
}

}  // namespace larder::http
