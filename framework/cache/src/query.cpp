#include "larder/cache/query.h"

#include <algorithm>
#include <array>

#include "percent.h"

namespace larder::cache {
namespace {

// Bytes that stand for themselves in a query: no escape, no '+', no NUL, ASCII.
constexpr std::array<bool, 256> makePlainBytes() {
  std::array<bool, 256> plain{};
  for (unsigned c = 1; c < 0x80; ++c) plain[c] = c != '%' && c != '+';
  return plain;
}
constexpr std::array<bool, 256> kPlainBytes = makePlainBytes();

bool isPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return kPlainBytes[static_cast<unsigned char>(c)]; });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t";
  const std::size_t from = text.find_first_not_of(space);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(space) - from + 1);
}

// Takes the piece before the next separator off `text`.
std::string_view takePiece(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return piece;
}

}  // namespace

std::string_view describe(ParamStatus status) {
  switch (status) {
    case ParamStatus::ok:
      return "well formed";
    case ParamStatus::badEscape:
      return "a malformed percent escape in a parameter";
    case ParamStatus::nul:
      return "a NUL in a parameter";
    case ParamStatus::badUtf8:
      return "a parameter is not UTF-8";
    case ParamStatus::tooMany:
      return "too many parameters";
    case ParamStatus::tooLong:
      return "too long a list of parameters";
  }
  return "";
}

ParamStatus Params::addForm(std::string_view text, const ParamLimits& limits) {
  if (text.size() > limits.bytes) return fail(ParamStatus::tooLong);
  while (!text.empty()) {
    std::string_view name = takePiece(text, '&');
    if (name.empty()) continue;
    if (params_.size() >= limits.count) return fail(ParamStatus::tooMany);
    std::string_view value;
    if (const std::size_t equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    Param param;
    ParamStatus status = decode(name, name.size() + value.size() + text.size(), param.name);
    if (status != ParamStatus::ok) return fail(status);
    status = decode(value, value.size() + text.size(), param.value);
    if (status != ParamStatus::ok) return fail(status);
    params_.push_back(param);
  }
  return ParamStatus::ok;
}

ParamStatus Params::addCookies(std::string_view fieldValue, const ParamLimits& limits) {
  if (fieldValue.size() > limits.bytes) return fail(ParamStatus::tooLong);
  while (!fieldValue.empty()) {
    const std::string_view piece = takePiece(fieldValue, ';');
    const std::size_t equals = piece.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = trimmed(piece.substr(0, equals));
    if (name.empty()) continue;
    if (params_.size() >= limits.count) return fail(ParamStatus::tooMany);
    std::string_view value = trimmed(piece.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    params_.push_back({name, value});
  }
  return ParamStatus::ok;
}

void Params::clear() {
  params_.clear();
  currentStore_ = 0;
  used_ = 0;
}

std::optional<std::string_view> Params::first(std::string_view name) const {
  for (const Param& param : params_) {
    if (param.name == name) return param.value;
  }
  return std::nullopt;
}

std::size_t Params::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      params_.begin(), params_.end(), [name](const Param& param) { return param.name == name; }));
}

ParamStatus Params::fail(ParamStatus status) {
  clear();
  return status;
}

// `room` is the length of this and all later pieces of the same form, none of which decodes to
// more, so that one store serves the whole form.
ParamStatus Params::decode(std::string_view text, std::size_t room, std::string_view& decoded) {
  if (isPlain(text)) {
    decoded = text;
    return ParamStatus::ok;
  }
  char* const out = reserve(room);
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+') {
      c = ' ';
    } else if (c == '%') {
      const int byte = detail::escapedByte(text, i);
      if (byte < 0) return ParamStatus::badEscape;
      c = static_cast<char>(byte);
      i += 2;
    }
    if (c == '\0') return ParamStatus::nul;
    out[size++] = c;
  }
  decoded = std::string_view(out, size);
  if (!detail::isUtf8(decoded)) return ParamStatus::badUtf8;
  used_ += size;
  return ParamStatus::ok;
}

char* Params::reserve(std::size_t room) {
  while (currentStore_ < stores_.size() && stores_[currentStore_].size - used_ < room) {
    ++currentStore_;
    used_ = 0;
  }
  if (currentStore_ >= stores_.size()) {
    const std::size_t size = std::max<std::size_t>(room, 512);
    stores_.push_back({std::make_unique<char[]>(size), size});
    currentStore_ = stores_.size() - 1;
    used_ = 0;
  }
  return stores_[currentStore_].bytes.get() + used_;
}

}  // namespace larder::cache
