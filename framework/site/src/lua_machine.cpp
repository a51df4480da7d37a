#include "lua_machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "larder/cache/units.h"
#include "lua_library.h"
#include "lua_value.h"
#include "script_result.h"

namespace larder::site {
namespace {

/// Strings from here on make single instructions slow (a comparison, a concatenation): the hook
/// comes the more often, the longer they are.
constexpr std::size_t kLargeString = std::size_t{64} * 1024;
/// After this much allocation the hook comes early: garbage collection costs time, too.
constexpr std::size_t kChurn = std::size_t{4} * 1024 * 1024;
/// What a machine that is over may still allocate to say so.
constexpr std::size_t kReserve = std::size_t{64} * 1024;
/// Garbage that an idle machine may keep.
constexpr std::size_t kIdleGarbage = std::size_t{256} * 1024;
constexpr int kExcerptLines = 8;

// Places in the registry, by address.
const char kMain = 0;
const char kEnvironment = 0;
const char kEnvironmentMeta = 0;
const char kFailure = 0;
const char kFailureMeta = 0;

int failureText(lua_State* lua) {
  lua_getfield(lua, 1, "message");
  return 1;
}

int environmentIndex(lua_State* lua) {
  // Whatever is neither set by the script nor one of ours: `object`, or a slip.
  const std::string_view name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";
  if (name == "object") return pushRequestObject(lua);
  return luaL_error(lua, "unknown name '%s'; a global has to be set before it is read",
                    std::string(name).c_str());
}

/// "scripts/recent.lua:7" of the innermost Lua function, or empty.
std::string whereIs(lua_State* thread) {
  lua_Debug record;
  for (int level = 0; lua_getstack(thread, level, &record) != 0; ++level) {
    lua_getinfo(thread, "Sl", &record);
    if (record.currentline > 0)
      return std::string(record.short_src) + ":" + std::to_string(record.currentline);
  }
  return {};
}

}  // namespace

Result<std::string> compileLua(const std::string& name, const std::string& text) {
  const std::unique_ptr<lua_State, decltype(&lua_close)> lua(luaL_newstate(), &lua_close);
  if (!lua) return Error{name + ": no memory to compile it"};
  // Only text: "t" refuses bytecode, whose faults would be ours.
  if (luaL_loadbufferx(lua.get(), text.data(), text.size(), ("@" + name).c_str(), "t") != LUA_OK) {
    const char* message = lua_tostring(lua.get(), -1);
    return Error{message != nullptr ? message : name + ": cannot be compiled"};
  }
  std::string code;
  lua_dump(
      lua.get(),
      [](lua_State*, const void* piece, std::size_t size, void* out) {
        static_cast<std::string*>(out)->append(static_cast<const char*>(piece), size);
        return 0;
      },
      &code, 0);
  return code;
}

LuaMachine::LuaMachine(LuaProgram& program) : program_(program) {
  lua_ = lua_newstate(&LuaMachine::allocate, this);
  if (lua_ == nullptr) throw std::bad_alloc();
  *static_cast<LuaMachine**>(lua_getextraspace(lua_)) = this;
  running_ = lua_;
  lua_pushcfunction(lua_, &LuaMachine::openAll);
  if (lua_pcall(lua_, 0, 0, 0) != LUA_OK) {
    const bool no_memory = lua_type(lua_, -1) != LUA_TSTRING;
    const std::string message = no_memory ? "" : lua_tostring(lua_, -1);
    lua_close(lua_);
    if (no_memory) throw std::bad_alloc();
    throw ScriptError(program.name + ": no Lua state: " + message);
  }
  base_ = used_;
  reusable_ = true;
}

LuaMachine::~LuaMachine() {
  lua_close(lua_);
}

int LuaMachine::openAll(lua_State* lua) {
  const LuaProgram& program = of(lua).program_;
  luaL_loadbufferx(lua, program.code.data(), program.code.size(), "", "b");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kMain);

  pushGlobals(lua);
  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, &environmentIndex);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_createtable(lua, 0, 2);
  lua_pushvalue(lua, -2);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kEnvironmentMeta);

  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, &failureText);
  lua_setfield(lua, -2, "__tostring");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kFailureMeta);

  // These two exist from now on: to change them later allocates nothing.
  for (const char* key : {&kEnvironment, &kFailure}) {
    lua_pushboolean(lua, 0);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, key);
  }
  return 0;
}

// --- Memory

namespace {

/// Larger blocks are mapped: they leave no gaps in the heap, grow without a copy, and are given
/// back to the system at once.
constexpr std::size_t kMapped = 128UL * 1024;

/// What a block takes of the process's memory: glibc puts a word before each and rounds up to 16
/// bytes, a mapping has whole pages. Small blocks, which most are, would else be charged half of
/// what they cost.
constexpr std::size_t footprint(std::size_t size) noexcept {
  constexpr std::size_t kSmallest = 32;
  if (size == 0) return 0;
  if (size >= kMapped) return (size + 4095) & ~std::size_t{4095};
  return std::max(kSmallest, (size + 8 + 15) & ~std::size_t{15});
}

void freeBlock(void* block, std::size_t size) noexcept {
  if (size >= kMapped)
    ::munmap(block, footprint(size));
  else
    std::free(block);
}

/// realloc() over heap and mappings; null when there is no memory, and the block stays.
void* resizeBlock(void* block, std::size_t old_size, std::size_t size) noexcept {
  if (old_size < kMapped && size < kMapped) return std::realloc(block, size);
  if (old_size >= kMapped && size >= kMapped) {
    void* moved = ::mremap(block, footprint(old_size), footprint(size), MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? nullptr : moved;
  }
  void* fresh = size < kMapped ? std::malloc(size)
                               : ::mmap(nullptr, footprint(size), PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return nullptr;
  if (fresh != nullptr && block != nullptr) {
    std::memcpy(fresh, block, std::min(old_size, size));
    freeBlock(block, old_size);
  }
  return fresh;
}

}  // namespace

void* LuaMachine::allocate(void* self, void* block, std::size_t old_size,
                           std::size_t size) noexcept {
  auto& machine = *static_cast<LuaMachine*>(self);
  // For a new block, Lua passes what it is going to be instead of a size.
  const std::size_t old = block != nullptr ? footprint(old_size) : 0;
  if (size == 0) {
    if (block != nullptr) freeBlock(block, old_size);
    machine.used_ -= old;
    return nullptr;
  }
  // A block near the largest size would wrap around.
  const std::size_t wanted = footprint(std::min(size, std::numeric_limits<std::size_t>::max() / 2));
  if (wanted > old) {
    const std::size_t limit =
        machine.program_.limits.memory + (machine.over_ != Over::no ? kReserve : 0);
    if (wanted - old > limit || machine.used_ + machine.kept_ > limit - (wanted - old)) {
      // Lua collects all garbage and asks again; the second refusal is final. Collecting takes
      // time, so the clock is looked at soon.
      if (machine.refused_ == size && machine.over_ == Over::no && machine.context_ != nullptr) {
        machine.setOver(Over::memory);
      } else {
        machine.hurry();
      }
      machine.refused_ = size;
      return nullptr;
    }
  }
  void* result = resizeBlock(block, block != nullptr ? old_size : 0, size);
  if (result == nullptr) return wanted <= old ? block : nullptr;
  machine.used_ += wanted - old;
  machine.refused_ = 0;
  machine.churn_ += size;
  if (block == nullptr && old_size == LUA_TSTRING && size > kLargeString &&
      size > machine.largest_) {
    machine.largest_ = size;
    machine.interval_ =
        static_cast<int>(std::max<std::uint64_t>(1, kInterval * kLargeString / size));
    machine.hurry();
  } else if (machine.churn_ > kChurn) {
    machine.hurry();
  }
  return result;
}

void LuaMachine::chargeMemory(lua_State* lua, std::size_t bytes) {
  kept_ += bytes;
  charge(lua, bytes / 64 + 1);
  if (used_ + kept_ > program_.limits.memory) {
    setOver(Over::memory);
    raiseOver(lua);
  }
}

std::uint32_t LuaMachine::keep(lua_State* lua, Document document, std::size_t bytes) {
  // Three blocks of the heap, and the list of documents may have just grown to twice its size.
  constexpr std::size_t kBlocks = 3UL * 32;
  chargeMemory(lua, bytes + kBlocks + 2 * sizeof(Document));
  documents_.push_back(std::move(document));
  return static_cast<std::uint32_t>(documents_.size() - 1);
}

const Object* LuaMachine::keep(lua_State* lua, ObjectPtr object) {
  chargeMemory(lua, sizeof(Object) + object->body.size() + object->properties.bytes());
  objects_.push_back(std::move(object));
  return objects_.back().get();
}

// --- Steps and time

void LuaMachine::hurry() noexcept {
  if (context_ == nullptr) return;
  pending_ += static_cast<std::uint64_t>(interval_) + churn_ / 64;
  churn_ = 0;
  lua_sethook(running_, &LuaMachine::hook, LUA_MASKCOUNT, 1);
}

void LuaMachine::matchInterval(lua_State* lua) noexcept {
  if (lua_gethookcount(lua) != interval_)
    lua_sethook(lua, &LuaMachine::hook, LUA_MASKCOUNT, interval_);
}

void LuaMachine::hook(lua_State* lua, lua_Debug*) {
  LuaMachine& machine = of(lua);
  machine.pending_ += static_cast<std::uint64_t>(lua_gethookcount(lua));
  machine.settle(lua);
  machine.matchInterval(lua);
}

void LuaMachine::settle(lua_State* lua) {
  steps_ += std::exchange(pending_, 0) + std::exchange(churn_, 0) / 64;
  if (over_ == Over::no) {
    if (steps_ > program_.limits.steps) {
      setOver(Over::steps);
    } else if (program_.clock.monotonic() > deadline_) {
      setOver(Over::time);
    }
  }
  if (over_ != Over::no) raiseOver(lua);
}

void LuaMachine::setOver(Over what) noexcept {
  over_ = what;
  try {
    over_at_ = whereIs(running_);
  } catch (...) {
    over_at_.clear();
  }
  // Whatever code a failure still runs (a to-be-closed variable) fails at its first instruction.
  interval_ = 1;
  hurry();
}

void LuaMachine::raiseOver(lua_State* lua) {
  if (over_ == Over::no) setOver(Over::memory);
  lua_checkstack(lua, 1);
  lua_pushlightuserdata(lua, this);
  lua_error(lua);
  std::abort();  // lua_error does not return
}

LuaMachine::Running::Running(LuaMachine& machine, lua_State* coroutine) noexcept
    : machine_(machine), outer_(std::exchange(machine.running_, coroutine)) {
  machine_.matchInterval(coroutine);
}

LuaMachine::Running::~Running() {
  machine_.running_ = outer_;
  machine_.matchInterval(outer_);
}

// --- Failures of the render context

void LuaMachine::raiseOutside(lua_State* lua) {
  int status = 0;
  std::string message;
  bool catchable = true;
  try {
    std::rethrow_exception(raised_);
  } catch (const HttpError& error) {
    status = error.status;
    message = error.message;
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    // Refusals of the engine, which has to see them as they are.
    catchable = false;
  }
  if (!catchable) {
    setOver(Over::outside);
    raiseOver(lua);
  }
  caught_outside_ = true;
  luaL_checkstack(lua, 4, nullptr);
  lua_createtable(lua, 0, 2);
  lua_pushlstring(lua, message.data(), message.size());
  lua_setfield(lua, -2, "message");
  if (status != 0) {
    lua_pushinteger(lua, status);
    lua_setfield(lua, -2, "status");
  }
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kFailureMeta);
  lua_setmetatable(lua, -2);
  lua_pushvalue(lua, -1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kFailure);
  lua_error(lua);
  std::abort();
}

// --- One call

void LuaMachine::pushEnvironment(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kEnvironment);
}

/// Leaves a new coroutine with the script's function, whose only upvalue is a new environment.
int LuaMachine::begin(lua_State* lua) {
  lua_State* thread = lua_newthread(lua);
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kMain);
  lua_createtable(lua, 0, 16);
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kEnvironmentMeta);
  lua_setmetatable(lua, -2);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -2, "_G");
  lua_pushvalue(lua, -1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kEnvironment);
  lua_setupvalue(lua, -2, 1);
  lua_xmove(lua, thread, 1);
  return 1;
}

/// The script's result, on top, as a Value in result_; runs the metamethods it needs.
int LuaMachine::finish(lua_State* lua) {
  LuaMachine& machine = of(lua);
  machine.result_ = toResult(lua, 1);
  return 0;
}

Value LuaMachine::run(RenderContext& context) {
  context_ = &context;
  ++epoch_;
  steps_ = pending_ = 0;
  churn_ = kept_ = largest_ = refused_ = 0;
  interval_ = kInterval;
  over_ = Over::no;
  caught_outside_ = false;
  deadline_ = addMillis(program_.clock.monotonic(), program_.limits.time);
  reusable_ = false;

  struct Cleaner {
    LuaMachine& machine;
    ~Cleaner() { machine.reset(); }
  } cleaner{*this};

  running_ = lua_;
  lua_pushcfunction(lua_, &LuaMachine::begin);
  if (const int status = lua_pcall(lua_, 0, 1, 0); status != LUA_OK) fail(lua_, status);
  lua_State* thread = lua_tothread(lua_, 1);
  int results = 0;
  int status = LUA_OK;
  {
    const Running running(*this, thread);
    status = lua_resume(thread, lua_, 0, &results);
  }
  if (status == LUA_YIELD)
    throw ScriptError(program_.name + ": coroutine.yield outside of a coroutine");
  if (status != LUA_OK) fail(thread, status);

  // The conversion runs in the thread of the script: functions of the result may be called.
  lua_settop(thread, results > 0 ? 1 : 0);
  if (results == 0) lua_pushnil(thread);
  lua_pushcfunction(thread, &LuaMachine::finish);
  lua_insert(thread, 1);
  {
    const Running running(*this, thread);
    status = lua_pcall(thread, 1, 0, 0);
  }
  if (status != LUA_OK) fail(thread, status);
  if (caught_outside_) context.noStore("a script caught the failure of what it read");
  reusable_ = true;
  return std::exchange(result_, Value());
}

void LuaMachine::reset() noexcept {
  context_ = nullptr;
  running_ = lua_;
  lua_settop(lua_, 0);
  for (const char* key : {&kEnvironment, &kFailure}) {
    lua_pushboolean(lua_, 0);
    lua_rawsetp(lua_, LUA_REGISTRYINDEX, key);
  }
  documents_.clear();
  objects_.clear();
  raised_ = nullptr;
  result_ = Value();
  if (reusable_ && used_ > base_ + kIdleGarbage) {
    lua_gc(lua_, LUA_GCCOLLECT);
    reusable_ = used_ <= base_ + kIdleGarbage;
  }
}

void LuaMachine::fail(lua_State* thread, int status) {
  if (over_ == Over::no && (status == LUA_ERRMEM || status < 0)) setOver(Over::memory);
  if (over_ == Over::outside) std::rethrow_exception(raised_);
  if (over_ != Over::no) throw ScriptError(overMessage() + excerpt(thread));

  // Nothing below allocates in the Lua state: it is read without protection.
  reusable_ = lua_checkstack(thread, 4) != 0;
  if (!reusable_) throw ScriptError(program_.name + ": error without room to say which");
  const bool is_table = lua_istable(thread, -1);
  if (is_table && raised_ != nullptr) {
    lua_rawgetp(thread, LUA_REGISTRYINDEX, &kFailure);
    const bool is_latest = lua_rawequal(thread, -1, -2) != 0;
    lua_pop(thread, 1);
    if (is_latest) std::rethrow_exception(raised_);
  }
  if (caught_outside_) context_->noStore("a script caught the failure of what it read");
  std::string message;
  int http_status = 0;
  if (lua_type(thread, -1) == LUA_TSTRING) {
    message = lua_tostring(thread, -1);
  } else if (is_table) {
    for (lua_pushnil(thread); lua_next(thread, -2) != 0; lua_pop(thread, 1)) {
      if (lua_type(thread, -2) != LUA_TSTRING) continue;
      const std::string_view key = lua_tostring(thread, -2);
      if (key == "status" && lua_isinteger(thread, -1) != 0) {
        const lua_Integer value = lua_tointeger(thread, -1);
        if (value >= 400 && value <= 599) http_status = static_cast<int>(value);
      } else if (key == "message" && lua_type(thread, -1) == LUA_TSTRING) {
        message = lua_tostring(thread, -1);
      }
    }
    if (http_status != 0) throw HttpError{http_status, message};
  }
  if (message.empty())
    message = std::string("error with a value of type ") + luaL_typename(thread, -1);
  // Errors of Lua's say where they are, those of the conversion of a result do not.
  if (!message.starts_with(program_.name)) message = program_.name + ": " + message;
  throw ScriptError(message + excerpt(thread));
}

std::string LuaMachine::overMessage() const {
  const ScriptLimits& limits = program_.limits;
  std::string message =
      (over_at_.empty() ? program_.name : over_at_) + ": the script reached its limit of ";
  switch (over_) {
    case Over::memory:
      return message + formatSize(limits.memory) +
             " of memory; read or build less, or raise 'memory'";
    case Over::steps:
      return message + std::to_string(limits.steps) + " steps; do less, or raise 'steps'";
    case Over::time:
      return message + formatDuration(limits.time) + " of time; do less, or raise 'time'";
    case Over::no:
    case Over::outside:
      break;
  }
  return message;
}

std::string LuaMachine::excerpt(lua_State* thread) const {
  std::string text;
  lua_Debug record;
  int lines = 0;
  for (int level = 0; lua_getstack(thread, level, &record) != 0 && lines < kExcerptLines; ++level) {
    lua_getinfo(thread, "Sln", &record);
    if (record.currentline <= 0) continue;
    text += std::string("\n  ") + record.short_src + ":" + std::to_string(record.currentline);
    if (*record.what == 'm') {
      text += " in the script";
    } else {
      text += std::string(" in ") + (record.name != nullptr ? record.name : "a function");
    }
    ++lines;
  }
  return text;
}

}  // namespace larder::site
