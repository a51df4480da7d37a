// The views of a simulated site, what their pages say of themselves, and how such a page is judged.
//
// A page is a tree of frames, one for each view that took part, in lines of text:
//
//   V name path moment time     begin of a frame: when its snapshot was opened, when it was
//   rendered I input value               it read an input of the request R item version it read an
//   item C view path argument        it calls another view, whose frame follows E end of the frame
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/engine.h"
#include "larder/cache/policy.h"
#include "oracle.h"
#include "random.h"

namespace larder::simulate {

// Items: objects, rows of the tables note and other, the SQL view that shows one of these tables,
// and things outside that only a tag stands for.
inline constexpr std::array<std::string_view, 7> kObjects{"/o0",  "/o1",  "/o2", "/f",
                                                          "/f/a", "/f/b", "/f/c"};
inline constexpr std::size_t kFirstChild = 4;  // of /f
inline constexpr std::size_t kRows = 3;        // ids 1 .. kRows
inline constexpr std::size_t kFirstRow = kObjects.size();
inline constexpr std::size_t kFirstTag = kFirstRow + kRows;
inline constexpr std::size_t kTags = 2;
inline constexpr std::size_t kFirstOther = kFirstTag + kTags;
inline constexpr std::size_t kShown = kFirstOther + kRows;
static_assert(kShown + 1 == Oracle::kItems);

[[nodiscard]] constexpr bool isObject(std::size_t item) noexcept {
  return item < kFirstRow;
}
[[nodiscard]] constexpr bool isTag(std::size_t item) noexcept {
  return item >= kFirstTag && item < kFirstOther;
}
[[nodiscard]] std::string tagOf(std::size_t item);
/// Which table's rows the SQL view shows in this version.
[[nodiscard]] constexpr std::size_t firstShown(Version version) noexcept {
  return version % 2 == 0 ? kFirstRow : kFirstOther;
}

/// The inputs of one request, or of a call within it. -1: absent.
struct Inputs final : InputSource {
  static constexpr std::array<std::string_view, 5> kNames{"arg:0", "header:h", "param:p", "param:q",
                                                          "user"};
  static constexpr std::size_t kArgument = 0;
  static constexpr std::size_t kParamP = 2;
  static constexpr std::size_t kParamQ = 3;
  static constexpr std::string_view kAllParams = "params";

  void write(std::string_view name, KeyBuilder& key) const override;
  [[nodiscard]] std::string value(std::string_view name) const;
  std::array<int, kNames.size()> values{-1, -1, -1, -1, -1};
};

struct Step {
  enum class Kind { object, row, shown, children, tag, input, params, call } kind = Kind::object;
  /// Only if the last version read was odd, or only if the parameter p is 1.
  enum class When { always, odd, param } when = When::always;
  std::size_t which = 0;  ///< item, input or view
  std::string path;       ///< of a call
  bool argument = false;  ///< of a call
};

struct ViewDefinition {
  std::string name;
  std::vector<Step> steps;
  Policy policy;
  bool shared = false;  ///< its manager's cache is shared by all processes
  InputNames declared;

  [[nodiscard]] bool mayBeStale() const noexcept {
    return policy.stale_while_revalidate > 0 || policy.stale_if_error > 0;
  }
};

[[nodiscard]] std::string describe(const ViewDefinition& view);

/// A site's code. The later views call the earlier ones.
[[nodiscard]] std::vector<ViewDefinition> makeViews(Random& random);

/// Writes a page.
class PageWriter {
 public:
  void begin(std::string_view view, std::string_view path, Moment moment, Millis now);
  void input(std::string_view name, std::string_view value);
  void item(std::size_t item, Version version);
  void absentFromList(std::size_t item);
  void call(std::string_view view, std::string_view path, std::string_view argument,
            std::string_view page);
  [[nodiscard]] std::string end();

 private:
  void line(std::initializer_list<std::string_view> words);
  std::string text_;
};

/// One request, as far as its answer is judged by it.
struct Asked {
  std::size_t view = 0;
  std::string path;
  Inputs inputs;
  Moment moment = 0;  ///< when it began
  Millis time = 0;
};

/// What is wrong with the answer, or empty.
[[nodiscard]] std::string judge(const Asked& asked, const Answer& answer, const Oracle& oracle,
                                const std::vector<ViewDefinition>& views);

}  // namespace larder::simulate
