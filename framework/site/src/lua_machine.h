// LuaMachine: one Lua state that runs one script, one call at a time, inside limits.
//
// Memory is bounded by the allocator, instructions and time by a count hook and by charge(), which
// every built-in function calls for the work it does. Once a limit is reached the machine is
// `over`: each following instruction fails again, pcall and coroutines pass the failure on.
//
// Lua is built as C++: its errors are exceptions, so locals of the functions below are destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <lua.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "larder/clock.h"
#include "larder/document.h"
#include "larder/site/script_view.h"
#include "larder/value.h"
#include "larder/view.h"
#include "lua_regex.h"

namespace larder::site {

/// What all machines of one script share; immutable but for the cache of patterns.
struct LuaProgram {
  std::string name;
  std::string code;  ///< our own bytecode, never a script's
  ScriptLimits limits;
  const Clock& clock;
  RegexCache patterns;
};

/// Compiles; an error names file and line.
[[nodiscard]] Result<std::string> compileLua(const std::string& name, const std::string& text);

class LuaMachine {
 public:
  /// Throws std::bad_alloc when there is no memory for a state.
  explicit LuaMachine(LuaProgram& program);
  ~LuaMachine();
  LuaMachine(const LuaMachine&) = delete;
  LuaMachine& operator=(const LuaMachine&) = delete;

  /// One call. Nothing of it is left for the next one.
  [[nodiscard]] Value run(RenderContext& context);
  /// Whether it is in a state to run again.
  [[nodiscard]] bool reusable() const noexcept { return reusable_; }

  // For the functions that scripts call.

  static LuaMachine& of(lua_State* lua) noexcept {
    return **static_cast<LuaMachine**>(lua_getextraspace(lua));
  }
  [[nodiscard]] RenderContext& context() noexcept { return *context_; }
  [[nodiscard]] RegexCache& patterns() noexcept { return program_.patterns; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] const ScriptLimits& limits() const noexcept { return program_.limits; }

  /// Pays for work outside of the Lua machine, before it is done. Raises when a limit is reached.
  void charge(lua_State* lua, std::uint64_t steps) {
    pending_ += steps;
    if (pending_ >= kInterval) settle(lua);
  }
  /// Looks at the clock, for work of unknown cost. Raises when a limit is reached.
  void look(lua_State* lua) { settle(lua); }
  /// For work whose speed is that of copying memory.
  void chargeBytes(lua_State* lua, std::size_t bytes) { charge(lua, bytes / 16); }
  /// Counts memory that a value outside of the Lua state takes for the rest of the call.
  void chargeMemory(lua_State* lua, std::size_t bytes);

  /// Keeps what a script reads in place until the call ends; the index to find it again. `bytes`
  /// count towards the limit of memory.
  std::uint32_t keep(lua_State* lua, Document document, std::size_t bytes);
  const Object* keep(lua_State* lua, ObjectPtr object);
  [[nodiscard]] const Document& document(std::uint32_t index) const { return documents_[index]; }

  /// Calls into the render context. What that throws ends the script or becomes an error of Lua's.
  template <class F>
  auto outside(lua_State* lua, F&& work) -> std::invoke_result_t<F> {
    try {
      return std::forward<F>(work)();
    } catch (...) {
      raised_ = std::current_exception();
    }
    raiseOutside(lua);
  }

  /// After a protected call: passes on what no script may catch.
  void passOn(lua_State* lua, int status) {
    // A negative status stands for a C++ exception that Lua swallowed: there was no memory.
    if (over_ != Over::no || status == LUA_ERRMEM || status < 0) raiseOver(lua);
  }
  [[nodiscard]] bool isOver() const noexcept { return over_ != Over::no; }

  /// While it lives, instructions are those of another coroutine.
  class Running {
   public:
    Running(LuaMachine& machine, lua_State* coroutine) noexcept;
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    LuaMachine& machine_;
    lua_State* outer_;
  };

  /// The environment of the current call on top of the stack.
  static void pushEnvironment(lua_State* lua);

 private:
  enum class Over : std::uint8_t { no, memory, steps, time, outside };
  /// Instructions between two looks at the clock and the count; also the price of a coroutine,
  /// which may hide as many.
  static constexpr std::uint64_t kInterval = 1000;

  static void* allocate(void* self, void* block, std::size_t old_size, std::size_t size) noexcept;
  static void hook(lua_State* lua, lua_Debug* record);
  void settle(lua_State* lua);
  void setOver(Over what) noexcept;
  [[noreturn]] void raiseOver(lua_State* lua);
  [[noreturn]] void raiseOutside(lua_State* lua);
  /// The hook comes with the next instruction.
  void hurry() noexcept;
  void matchInterval(lua_State* lua) noexcept;

  static int openAll(lua_State* lua);
  static int begin(lua_State* lua);
  static int finish(lua_State* lua);
  void reset() noexcept;
  [[noreturn]] void fail(lua_State* thread, int status);
  [[nodiscard]] std::string overMessage() const;
  [[nodiscard]] std::string excerpt(lua_State* thread) const;

  LuaProgram& program_;
  lua_State* lua_ = nullptr;
  RenderContext* context_ = nullptr;

  // Memory.
  std::size_t used_ = 0;     ///< by the allocator
  std::size_t kept_ = 0;     ///< outside of it
  std::size_t base_ = 0;     ///< used_ of a state that has not run
  std::size_t refused_ = 0;  ///< size of the allocation refused last, 0 after one that succeeded
  std::size_t churn_ = 0;    ///< allocated since the last look
  std::size_t largest_ = 0;  ///< block of this call

  // Steps and time.
  std::uint64_t steps_ = 0;
  std::uint64_t pending_ = 0;
  int interval_ = kInterval;  ///< instructions until the hook comes; fewer when one may be slow
  Millis deadline_ = 0;
  lua_State* running_ = nullptr;

  Over over_ = Over::no;
  std::string over_at_;  ///< "scripts/recent.lua:7"
  std::exception_ptr raised_;
  bool caught_outside_ = false;  ///< a failure of the context was turned into an error of Lua's
  std::uint32_t epoch_ = 0;
  bool reusable_ = false;
  std::vector<Document> documents_;
  std::vector<ObjectPtr> objects_;
  Value result_;
};

}  // namespace larder::site
