// Result<T>: a value or an Error, for failures that a caller is expected to handle.
//
//   Result<int> parsePort(std::string_view text);
//   auto port = parsePort("80a");
//   if (!port) log(port.error().message);
//
// Exceptions are for configuring, starting and app code; everything on a request's path returns a
// Result.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace larder {

/// What went wrong, for the person who has to act: the message names the file, line, key or
/// parameter and the remedy.
struct Error {
  std::string message;
};

/// Success without a value.
struct Done {};

template <class T = Done>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  /// Precondition of value(), * and ->: the result holds a value.
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  /// Precondition: the result holds an error.
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace larder
