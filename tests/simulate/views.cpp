#include "views.h"

#include <algorithm>
#include <charconv>

namespace larder::simulate {

namespace {

constexpr std::size_t kLeaves = 7;
constexpr std::size_t kViews = 11;

Policy makePolicy(Random& random) {
  Policy policy;
  policy.max_age = std::array<Millis, 4>{kForever, 3'600'000, 3'000, 500}[random.below(4)];
  if (random.chance(500)) policy.stale_while_revalidate = random.chance(500) ? 2'000 : 60'000;
  if (random.chance(400)) policy.stale_if_error = 5'000;
  if (random.chance(300)) policy.early_refresh = 1;
  if (random.chance(200)) policy.jitter = 0.5;
  if (random.chance(200)) policy.audit = 0.05;
  if (random.chance(200)) policy.render_timeout = 100;
  if (random.chance(200)) policy.prefetch = false;
  if (random.chance(400)) policy.soft_timeout = 10;
  policy.lease = std::array<Millis, 3>{0, 2'000, 10'000}[random.below(3)];
  policy.max_renders = std::array<std::size_t, 3>{1, 2, 64}[random.below(3)];
  if (random.chance(20)) policy.mode = KeyMode::observe;
  return policy;
}

Step makeLeafStep(Random& random) {
  Step step;
  step.when = std::array{Step::When::always, Step::When::always, Step::When::odd,
                         Step::When::param}[random.below(4)];
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
      step.kind = Step::Kind::object;
      step.which = random.below(kObjects.size());
      break;
    case 3:
    case 4:
    case 5:
      step.kind = Step::Kind::row;
      step.which = kFirstRow + random.below(kRows);
      break;
    case 6:
      step.kind = Step::Kind::shown;
      break;
    case 7:
      step.kind = Step::Kind::children;
      break;
    case 8:
      step.kind = Step::Kind::tag;
      step.which = kFirstTag + random.below(kTags);
      break;
    case 9:
      step.kind = random.chance(300) ? Step::Kind::params : Step::Kind::input;
      step.which = random.below(Inputs::kNames.size());
      break;
    default:
      step.kind = Step::Kind::input;
      step.which = random.below(Inputs::kNames.size());
  }
  return step;
}

std::string nameOf(std::size_t item, Version version) {
  return "item " + std::to_string(item) + " in version " + std::to_string(version);
}

/// Walks the lines of a page and judges each.
class Judge {
 public:
  Judge(const Asked& asked, const Answer& answer, const Oracle& oracle,
        const std::vector<ViewDefinition>& views)
      : asked_(asked), answer_(answer), oracle_(oracle), views_(views) {
    versions_.fill(kNever);
  }

  std::string run() {
    const auto page = answer_.entry->value.page();
    if (!page) return "no page";
    rest_ = page->body;
    if (!nextLine()) return "an empty page";
    frame(views_[asked_.view].name, asked_.path, asked_.inputs.value("arg:0"), 0, false, true);
    if (wrong_.empty() && !rest_.empty()) wrong_ = "more than one page";
    return wrong_;
  }

 private:
  bool nextLine() {
    if (rest_.empty()) return false;
    const auto end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return true;
  }
  std::string_view word() {
    const auto end = std::min(line_.find(' '), line_.size());
    const auto found = line_.substr(0, end);
    line_.remove_prefix(std::min(end + 1, line_.size()));
    return found;
  }
  std::uint64_t number() {
    const auto text = word();
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  void fail(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  // `stale`: a view between here and the page may serve what is stale; `timed`: all of these are
  // in caches whose times follow the monotonic clock.
  void frame(std::string_view view, std::string_view path, const std::string& argument, int depth,
             bool stale, bool timed) {
    const auto definition =
        std::find_if(views_.begin(), views_.end(), [&](const auto& v) { return v.name == view; });
    if (word() != "V" || word() != view || word() != path || definition == views_.end())
      return fail("the frame of another view than " + std::string(view) + " of " +
                  std::string(path));
    const auto moment = number();
    const auto time = static_cast<Millis>(number());
    const bool rendered = answer_.outcome != Outcome::hit && answer_.outcome != Outcome::hit_stale;
    if (depth > 0 || answer_.outcome == Outcome::hit_stale) stale |= definition->mayBeStale();
    if (answer_.outcome == Outcome::hit || answer_.outcome == Outcome::coalesced) stale = false;
    timed &= !definition->shared;
    // What is never served from a cache has no age.
    const bool cached = definition->policy.mode != KeyMode::observe;
    if (timed && cached && !rendered) age(*definition, time, depth);
    const auto scope = [&](const std::string& name) {
      invalidation(name, moment, stale, "what " + name + " covers");
    };
    scope(std::string(kSiteScope));
    scope(managerScope("/", definition->shared ? "shared" : "ram"));
    scope(viewScope(view, path));
    while (wrong_.empty() && nextLine()) {
      const auto kind = word();
      if (kind == "E") return;
      if (kind == "I") {
        const auto name = word();
        const auto expected =
            name == Inputs::kNames[Inputs::kArgument] ? argument : asked_.inputs.value(name);
        if (line_ != expected)
          fail("somebody else's: " + std::string(name) + " is " + expected + ", the page says " +
               std::string(line_));
      } else if (kind == "R") {
        const auto item = number();
        read(item, number(), moment, stale);
      } else if (kind == "A") {
        version(number(), 0, stale);
      } else if (kind == "C") {
        const std::string child_view(word());
        const std::string child_path(word());
        const std::string child_argument(line_);
        if (!nextLine()) return fail("a page that was cut off");
        frame(child_view, child_path, child_argument, depth + 1, stale, timed);
      } else {
        return fail("a page that is no page");
      }
    }
    fail("a page that was cut off");
  }

  void age(const ViewDefinition& view, Millis rendered, int depth) {
    const auto& policy = view.policy;
    auto limit = policy.max_age;
    if (answer_.outcome == Outcome::hit_stale) {
      if (depth > 0) return;
      limit = addMillis(limit, addMillis(policy.stale_while_revalidate, policy.stale_if_error));
    }
    if (asked_.time >= addMillis(rendered, limit))
      fail("too old: rendered at " + std::to_string(rendered) + ", may be served for " +
           std::to_string(limit) + " ms, asked for at " + std::to_string(asked_.time));
  }

  void read(std::size_t item, Version number, Moment moment, bool stale) {
    version(item, number, stale);
    const auto name = nameOf(item, number);
    if (isTag(item)) return invalidation("tag:" + tagOf(item), moment, stale, name);
    if (!isObject(item)) return;
    const auto path = kObjects[item];
    invalidation(objectScope(path), moment, stale, name);
    for (auto above = path; !above.empty(); above = parentPath(above))
      invalidation(subtreeScope(above), moment, stale, name);
  }
  void version(std::size_t item, Version number, bool stale) {
    const auto name = nameOf(item, number);
    if (item >= Oracle::kItems) return fail(name + ", which there is not");
    ended(oracle_.ended(item, number), stale, name);
    if (isTag(item)) return;  // outside, hence not of a snapshot
    if (versions_[item] == kNever) versions_[item] = number;
    if (versions_[item] != number)
      fail(name + " beside version " + std::to_string(versions_[item]) +
           ": parts of different moments");
  }

  void invalidation(const std::string& scope, Moment rendered, bool stale,
                    const std::string& what) {
    auto last = oracle_.invalidated(scope);
    if (last.hard <= rendered) last.hard = kNever;
    if (last.soft <= rendered) last.soft = kNever;
    ended(last, stale, what);
  }
  void ended(const Ended& at, bool stale, const std::string& what) {
    if (at.hard <= asked_.moment)
      fail("stale: " + what + " ended at moment " + std::to_string(at.hard));
    if (!stale && at.soft <= asked_.moment)
      fail("stale where it may not be: " + what + " was softly invalidated at moment " +
           std::to_string(at.soft));
  }

  const Asked& asked_;
  const Answer& answer_;
  const Oracle& oracle_;
  const std::vector<ViewDefinition>& views_;
  std::array<Version, Oracle::kItems> versions_{};
  std::string_view rest_;
  std::string_view line_;
  std::string wrong_;
};

}  // namespace

std::string tagOf(std::size_t item) {
  return "t" + std::to_string(item - kFirstTag);
}

std::string Inputs::value(std::string_view name) const {
  const auto text = [](int value) { return value < 0 ? "-" : std::to_string(value); };
  if (name == kAllParams) return text(values[kParamP]) + "," + text(values[kParamQ]);
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return text(values[i]);
  return "?";
}

void Inputs::write(std::string_view name, KeyBuilder& key) const {
  const auto text = value(name);
  if (text == "-") {
    key.absent(name);
  } else {
    key.input(name, 1);
    key.text(text);
  }
}

std::string describe(const ViewDefinition& view) {
  const auto& policy = view.policy;
  const auto time = [](Millis t) { return t == kForever ? "forever" : std::to_string(t) + " ms"; };
  return view.name + (view.shared ? " (shared): " : ": ") + "fresh for " + time(policy.max_age) +
         ", stale for " + time(policy.stale_while_revalidate) + ", on error for " +
         time(policy.stale_if_error) + "\n";
}

std::vector<ViewDefinition> makeViews(Random& random) {
  std::vector<ViewDefinition> views;
  for (std::size_t i = 0; i < kViews; ++i) {
    ViewDefinition view;
    view.name = "v" + std::to_string(i);
    view.shared = random.chance(600);
    view.policy = makePolicy(random);
    const auto steps = 1 + random.below(4);
    for (std::size_t s = 0; s < steps; ++s) {
      view.steps.push_back(makeLeafStep(random));
      if (i < kLeaves || random.chance(300)) continue;
      Step call{Step::Kind::call, Step::When::always, random.below(i),
                std::string(kObjects[random.below(3)]), random.chance(500)};
      view.steps.push_back(call);
    }
    if (random.chance(100)) {
      view.policy.mode = KeyMode::declared;
      view.policy.request_vars = {"param:p", "user"};
      view.declared = view.policy.request_vars;
    }
    views.push_back(std::move(view));
  }
  return views;
}

void PageWriter::line(std::initializer_list<std::string_view> words) {
  bool first = true;
  for (const auto word : words) {
    if (!first) text_ += ' ';
    text_ += word;
    first = false;
  }
  text_ += '\n';
}

void PageWriter::begin(std::string_view view, std::string_view path, Moment moment, Millis now) {
  line({"V", view, path, std::to_string(moment), std::to_string(now)});
}
void PageWriter::input(std::string_view name, std::string_view value) {
  line({"I", name, value});
}
void PageWriter::item(std::size_t item, Version version) {
  line({"R", std::to_string(item), std::to_string(version)});
}
void PageWriter::absentFromList(std::size_t item) {
  line({"A", std::to_string(item), "0"});
}
void PageWriter::call(std::string_view view, std::string_view path, std::string_view argument,
                      std::string_view page) {
  line({"C", view, path, argument});
  text_ += page;
}
std::string PageWriter::end() {
  line({"E"});
  return std::move(text_);
}

std::string judge(const Asked& asked, const Answer& answer, const Oracle& oracle,
                  const std::vector<ViewDefinition>& views) {
  return Judge(asked, answer, oracle, views).run();
}

}  // namespace larder::simulate
