// Holder: owns one object of any type, so that the bytes a response points at stay alive.
//
//   response.useStored(page.head, page.body, Holder(std::move(entry_ref)));
//
// Move-only; the object lies inside, so holding one allocates nothing. When the object has a
// makeDurable(), the front calls it before it keeps the response beyond the call that made it: a
// borrowed cache entry becomes a counted one. One thread at a time.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace larder::http {

class Holder {
 public:
  /// Larger objects go into a std::unique_ptr first.
  static constexpr std::size_t kCapacity = 32;

  Holder() noexcept = default;
  template <class T>
  requires(!std::is_same_v<T, Holder> && std::is_nothrow_move_constructible_v<T> &&
           std::is_object_v<T> && sizeof(T) <= kCapacity &&
           alignof(T) <= alignof(std::max_align_t)) explicit Holder(T object) noexcept
      : operations_(&kOperations<T>) {
    ::new (static_cast<void*>(storage_)) T(std::move(object));
  }
  Holder(Holder&& other) noexcept { take(other); }
  Holder& operator=(Holder&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Holder() { reset(); }

  void makeDurable() noexcept {
    if (operations_ != nullptr) operations_->make_durable(storage_);
  }
  void reset() noexcept {
    if (operations_ != nullptr) std::exchange(operations_, nullptr)->destroy(storage_);
  }
  explicit operator bool() const noexcept { return operations_ != nullptr; }

 private:
  struct Operations {
    void (*move)(void* to, void* from) noexcept;  // leaves nothing at `from`
    void (*destroy)(void*) noexcept;
    void (*make_durable)(void*) noexcept;
  };
  template <class T>
  static constexpr Operations kOperations = {
      [](void* to, void* from) noexcept {
        T* object = static_cast<T*>(from);
        ::new (to) T(std::move(*object));
        object->~T();
      },
      [](void* object) noexcept { static_cast<T*>(object)->~T(); },
      [](void* object) noexcept {
        if constexpr (requires(T & t) { t.makeDurable(); }) static_cast<T*>(object)->makeDurable();
      }};

  void take(Holder& other) noexcept {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_ != nullptr) operations_->move(storage_, other.storage_);
  }

  const Operations* operations_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kCapacity];
};

}  // namespace larder::http
