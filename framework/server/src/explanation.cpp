#include "explanation.h"

#include <algorithm>

#include "larder/cache/policy_settings.h"
#include "larder/cache/units.h"
#include "larder/http/http_date.h"

namespace larder::server {
namespace {

using nlohmann::json;

/// A GET of an anonymous visitor who sends no headers.
class PlainRequest final : public site::RequestView {
 public:
  explicit PlainRequest(std::string_view url) {
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (!url.starts_with(scheme)) continue;
      secure_ = scheme == "https://";
      url.remove_prefix(scheme.size());
      const auto slash = std::min(url.find('/'), url.size());
      authority_ = url.substr(0, slash);
      url.remove_prefix(slash);
    }
    url = url.substr(0, url.find('#'));
    const auto question = url.find('?');
    path_ = url.substr(0, question);
    if (path_.empty()) path_ = "/";
    if (question != std::string_view::npos) query_ = url.substr(question + 1);
  }
  [[nodiscard]] std::string_view method() const noexcept override { return "GET"; }
  [[nodiscard]] std::string_view rawPath() const noexcept override { return path_; }
  [[nodiscard]] std::string_view rawQuery() const noexcept override { return query_; }
  [[nodiscard]] std::string_view authority() const noexcept override { return authority_; }
  [[nodiscard]] bool secure() const noexcept override { return secure_; }
  [[nodiscard]] std::optional<std::string_view> header(std::string_view) const noexcept override {
    return std::nullopt;
  }
  [[nodiscard]] Fields headers() const override { return {}; }
  [[nodiscard]] cache::ParamStatus readCookies(cache::Params&) const override {
    return cache::ParamStatus::ok;
  }
  [[nodiscard]] std::string_view body() const noexcept override { return {}; }
  [[nodiscard]] std::string peer() const override { return {}; }

 private:
  std::string_view path_;
  std::string_view query_;
  std::string_view authority_;
  bool secure_ = false;
};

json listOf(const NameList& names) {
  json list = json::array();
  for (const auto name : names) list.push_back(name);
  return list;
}

/// Milliseconds from now on; null: for ever.
json timeLeft(Millis until, Millis now) {
  return until == kForever ? json(nullptr) : json(until - now);
}

std::string when(Millis wall) {
  return wall == 0 ? std::string("before this process started")
                   : "at " + http::formatHttpDate(wall / 1000);
}

std::string changeText(const std::string& scope, std::uint64_t seq,
                       const std::optional<RecentChange>& change) {
  std::string text = scope + " changed";
  if (!change) return text + (seq > 0 ? " (change " + std::to_string(seq) + ")" : "");
  return text + ' ' + when(change->wall) + " by " +
         (change->by_content ? "an edit: " : "an invalidation: ") + change->scope + " (change " +
         std::to_string(change->seq) + (change->hardness == Hardness::soft ? ", soft)" : ")");
}

std::string missText(const MissRecord& miss, const std::optional<RecentChange>& change) {
  if (miss.evicted)
    return "it had been stored, and the cache no longer had it: evicted, or emptied by somebody";
  switch (miss.miss) {
    case Outcome::miss_expired:
      return "what was stored had reached the end of its time";
    case Outcome::miss_changed:
      return changeText(miss.changed, miss.changed_at, change);
    case Outcome::miss_history:
      return "what was stored belongs to another history or schema of the store";
    case Outcome::miss_other_key:
    case Outcome::miss_damaged:
    case Outcome::miss_error:
      return "the cache gave no usable answer: " + std::string(reasonName(miss.reason));
    default:
      return "nothing was stored under this key";
  }
}

std::string storedText(const MissRecord& miss) {
  if (miss.stored == Outcome::stores) return "the new result was stored";
  if (miss.stored == Outcome::render_errors) return "the render failed";
  return "the new result was not stored (" + std::string(outcomeName(miss.stored)) + ")" +
         (miss.detail.empty() ? "" : ": " + miss.detail);
}

std::string_view levelOf(Waits waits) noexcept {
  switch (waits) {
    case Waits::always:
      return "outside of the process";
    case Waits::given_time:
      return "in this process over one outside of it";
    default:
      return "in this process";
  }
}

json reportMiss(const Inspection& inspection) {
  if (!inspection.last_miss) return nullptr;
  const MissRecord& miss = *inspection.last_miss;
  return {{"at", miss.wall},
          {"reason", miss.evicted ? "evicted" : std::string(outcomeName(miss.miss))},
          {"why", missText(miss, inspection.last_miss_change)},
          {"then", std::string(outcomeName(miss.stored))},
          {"stored", storedText(miss)}};
}

json reportEntry(const Inspection& inspection, const Policy& policy, const Clock& clock) {
  if (!inspection.entry) return nullptr;
  const CacheEntry& entry = *inspection.entry;
  const Millis now = clock.monotonic();
  const Lifetime lifetime = Engine::lifetimeUnder(policy, entry);
  json report = {{"use", inspection.use},
                 {"verdict", inspection.verdict},
                 {"as_of", entry.stamp.as_of},
                 {"era", std::to_string(entry.stamp.era)},
                 {"scopes", listOf(entry.scopeNames())},
                 {"inputs", listOf(entry.inputs())},
                 {"private", entry.is_private},
                 {"made", entry.created_wall},
                 {"age_ms", std::max<Millis>(now - entry.lifetime.created, 0)},
                 {"fresh_ms", timeLeft(lifetime.fresh_until, now)},
                 {"stale_ms", timeLeft(lifetime.stale_until, now)},
                 {"if_error_ms", timeLeft(lifetime.error_until, now)},
                 {"render_us", entry.cost_us},
                 {"bytes", entry.weight()}};
  if (const auto page = entry.value.page()) report["status"] = page->status;
  if (!inspection.changed.empty())
    report["changed"] = changeText(inspection.changed, 0, inspection.change);
  return report;
}

json reportKey(const Inspection& inspection) {
  json parts = json::array();
  for (const KeyPart& part : keyParts(inspection.key)) {
    parts.push_back(
        {{"name", part.name}, {"values", part.absent ? json(nullptr) : json(part.values)}});
  }
  return parts;
}

std::string joined(const json& texts) {
  std::string all;
  for (const json& text : texts) all += (all.empty() ? "" : ", ") + text.get<std::string>();
  return all;
}

std::string lasting(const json& left) {
  if (left.is_null()) return "for ever";
  const auto ms = left.get<Millis>();
  return ms > 0 ? "for " + formatDuration(ms) : "no longer";
}

void printEntry(const json& entry, std::ostream& out) {
  out << "entry     " << entry.at("use").get<std::string>() << ", " << entry.at("bytes")
      << " bytes, made in " << entry.at("render_us") << " us, "
      << formatDuration(entry.at("age_ms").get<Millis>() / 1000 * 1000) << " ago"
      << (entry.at("private").get<bool>() ? ", private" : "") << '\n';
  if (entry.contains("changed"))
    out << "          " << entry.at("changed").get<std::string>() << '\n';
  out << "          fresh " << lasting(entry.at("fresh_ms")) << ", stale "
      << lasting(entry.at("stale_ms")) << ", after an error " << lasting(entry.at("if_error_ms"))
      << "\n          read of the request: "
      << (entry.at("inputs").empty() ? "nothing" : joined(entry.at("inputs"))) << '\n';
  const char* label = "scopes    ";
  for (const json& scope : entry.at("scopes")) {
    out << label << scope.get<std::string>() << '\n';
    label = "          ";
  }
}

}  // namespace

Result<json> explainUrl(site::Site& site, std::string_view url, const Clock& clock) {
  const PlainRequest request(url);
  auto explained = site.explain(request);
  if (!explained) return explained.error();
  const site::Explanation& e = *explained;
  json settings = json::object();
  for (const SettingSpec& spec : policySchema())
    settings[spec.name] = settingText(e.policy, spec.name);
  json rules = json::array();
  for (const Rule& rule : e.rules)
    rules.push_back({{"path", rule.pattern}, {"view", rule.view}, {"origin", rule.origin}});
  json from = json::object();
  for (const PolicySetting& setting : e.settings) from[setting.name] = setting.origin;
  return json{
      {"path", e.path},
      {"view", e.view},
      {"app", e.app},
      {"manager", e.manager.id.empty() ? json(nullptr)
                                       : json{{"id", e.manager.id},
                                              {"path", e.manager.path},
                                              {"type", e.manager.type},
                                              {"origin", e.manager_origin}}},
      {"not_cached", e.why_not},
      {"rules", std::move(rules)},
      {"settings", std::move(settings)},
      {"settings_from", std::move(from)},
      {"known_inputs", e.inspection.known},
      {"key", reportKey(e.inspection)},
      {"level", levelOf(e.waits)},
      {"answer", e.inspection.status == Status::hit ? std::string("hit")
                                                    : std::string(reasonName(e.inspection.reason))},
      {"entry", reportEntry(e.inspection, e.policy, clock)},
      {"last_miss", reportMiss(e.inspection)}};
}

void printExplanation(const json& e, std::ostream& out) {
  out << "view      " << e.at("view").get<std::string>() << " of "
      << e.at("path").get<std::string>() << ", app at " << e.at("app").get<std::string>()
      << "\nmanager   ";
  if (e.at("manager").is_null()) {
    out << "none";
  } else {
    const json& manager = e.at("manager");
    out << manager.at("id").get<std::string>() << " at " << manager.at("path").get<std::string>()
        << " (" << manager.at("type").get<std::string>() << ", " << e.at("level").get<std::string>()
        << ")";
    if (const auto origin = manager.at("origin").get<std::string>(); !origin.empty())
      out << ", by " << origin;
  }
  out << '\n';
  if (const auto why = e.at("not_cached").get<std::string>(); !why.empty())
    out << "          not served from the cache: " << why << '\n';
  for (const json& rule : e.at("rules")) {
    const auto view = rule.at("view").get<std::string>();
    out << "rule      " << rule.at("path").get<std::string>() << (view.empty() ? "" : " " + view)
        << "  (" << rule.at("origin").get<std::string>() << ")\n";
  }
  for (const auto& [name, origin] : e.at("settings_from").items()) {
    out << "setting   " << name << " = " << e.at("settings").at(name).get<std::string>() << "  ("
        << origin.get<std::string>() << ")\n";
  }
  for (const json& part : e.at("key")) {
    out << "key       " << part.at("name").get<std::string>()
        << (part.at("values").is_null() ? " absent" : " = " + joined(part.at("values"))) << '\n';
  }
  if (e.at("entry").is_null())
    out << "entry     none (" << e.at("answer").get<std::string>() << ")\n";
  else
    printEntry(e.at("entry"), out);
  if (e.at("last_miss").is_null()) {
    out << "last miss none remembered\n";
    return;
  }
  const json& miss = e.at("last_miss");
  out << "last miss " << when(miss.at("at").get<Millis>()) << ": "
      << miss.at("why").get<std::string>() << "; " << miss.at("stored").get<std::string>() << '\n';
}

}  // namespace larder::server
