#include "larder/site/script_view.h"

#include <mutex>
#include <utility>
#include <vector>

#include "lua_machine.h"

namespace larder::site {
namespace {

class ScriptView final : public View {
 public:
  ScriptView(ScriptSource source, std::string code, const Clock& clock)
      : program_{std::move(source.name), std::move(code), source.limits, clock, {}} {
    idle_.reserve(kIdle);
  }

  Value render(RenderContext& context) override {
    std::unique_ptr<LuaMachine> machine = take();
    struct Return {
      ScriptView& view;
      std::unique_ptr<LuaMachine>& machine;
      ~Return() { view.giveBack(std::move(machine)); }
    } giver{*this, machine};
    return machine->run(context);
  }

 private:
  /// Idle machines beyond this are not kept: one takes some 40 KB.
  static constexpr std::size_t kIdle = 16;

  std::unique_ptr<LuaMachine> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<LuaMachine> machine = std::move(idle_.back());
        idle_.pop_back();
        return machine;
      }
    }
    return std::make_unique<LuaMachine>(program_);
  }

  void giveBack(std::unique_ptr<LuaMachine> machine) noexcept {
    if (!machine->reusable()) return;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdle) idle_.push_back(std::move(machine));
  }

  LuaProgram program_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<LuaMachine>> idle_;
};

}  // namespace

Result<std::shared_ptr<View>> makeScriptView(ScriptSource source, const Clock& clock) {
  Result<std::string> code = compileLua(source.name, source.text);
  if (!code) return code.error();
  return std::shared_ptr<View>(
      std::make_shared<ScriptView>(std::move(source), std::move(*code), clock));
}

}  // namespace larder::site
