// Random: the dice of a simulation. The same seed gives the same numbers on every machine.
#pragma once

#include <cstdint>

namespace larder::simulate {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// 0 .. n-1, n > 0.
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
  bool chance(unsigned per_mille) noexcept { return below(1000) < per_mille; }
  /// One of the elements of a container with operator[].
  template <class Container>
  auto& oneOf(Container& among) noexcept {
    return among[below(among.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace larder::simulate
