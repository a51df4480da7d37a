#include "fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace larder::simulate {

namespace {

constexpr std::size_t kStackBytes = std::size_t{512} << 10U;
constexpr std::size_t kGuardBytes = 4096;

Fiber* running = nullptr;

/// What the C++ runtime keeps per thread about exceptions being handled; each fiber has its own.
/// Layout: Itanium C++ ABI, 2.2.2.
struct Exceptions {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

Exceptions& exceptions() noexcept {
  return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
}

std::vector<void*>& idleStacks() {
  static std::vector<void*> idle;
  return idle;
}

void change(ucontext_t& from, const ucontext_t& to) {
  const Exceptions mine = exceptions();
  if (swapcontext(&from, &to) != 0) std::abort();
  exceptions() = mine;
}

}  // namespace

/// Used again, for making one costs a system call or two.
struct Fiber::Stack {
  Stack() {
    auto& idle = idleStacks();
    if (!idle.empty()) {
      memory = idle.back();
      idle.pop_back();
      return;
    }
    memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, kGuardBytes, PROT_NONE);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack() { idleStacks().push_back(memory); }
  void* memory = nullptr;
};

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(std::make_unique<Stack>()) {
  getcontext(&here_);
  here_.uc_stack.ss_sp = stack_->memory;
  here_.uc_stack.ss_size = kStackBytes;
  here_.uc_link = nullptr;
  makecontext(&here_, &Fiber::enter, 0);
}

Fiber::~Fiber() {
  if (!ended_) std::abort();
}

void Fiber::enter() {
  Fiber& self = *running;
  exceptions() = {};
  self.body_();
  self.body_ = {};
  self.ended_ = true;
  setcontext(&self.back_);
  std::abort();
}

void Fiber::resume() {
  Fiber* outer = std::exchange(running, this);
  change(back_, here_);
  running = outer;
}

void Fiber::pause() {
  Fiber& self = *running;
  change(self.here_, self.back_);
}

Fiber* Fiber::current() noexcept {
  return running;
}

bool Fiber::runnable(Millis now) const noexcept {
  return !waits_for_ || waits_for_->over() || now >= until_;
}

Millis Fiber::deadline() const noexcept {
  return waits_for_ ? until_ : kForever;
}

bool FiberEvent::wait(Millis deadline) noexcept {
  while (!over() && clock_.monotonic() < deadline) {
    Fiber& self = *running;
    self.waits_for_ = this;
    self.until_ = deadline;
    Fiber::pause();
    self.waits_for_ = nullptr;
  }
  return set_;
}

}  // namespace larder::simulate
