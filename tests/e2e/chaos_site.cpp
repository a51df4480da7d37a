#include "chaos_site.h"

#include <sstream>

namespace larder::e2e {

void ChaosSite::begin(const std::map<int, std::uint64_t>& versions) {
  const std::lock_guard lock(mutex_);
  least_ = versions;
  item_of_.clear();
  for (const auto& [item, version] : versions) {
    if (version >= item_of_.size()) item_of_.resize(version + 1);
    item_of_[version] = item;
  }
}

void ChaosSite::issue(int item, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  if (version >= item_of_.size()) item_of_.resize(version + 1000);
  item_of_[version] = item;
}

void ChaosSite::acknowledge(int item, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  least_[item] = version;
}

void ChaosSite::acknowledgeInvalidation(std::int64_t time) {
  const std::lock_guard lock(mutex_);
  rendered_after_ = time;
}

void ChaosSite::expect(ChaosRequest& request) const {
  const std::lock_guard lock(mutex_);
  request.least = least_;
  request.rendered_after = rendered_after_;
}

ChaosVerdict ChaosSite::judge(const ChaosRequest& request, const std::string& body) const {
  ChaosVerdict verdict;
  std::istringstream in(body);
  std::map<int, std::uint64_t> seen;
  int depth = 0;
  int parts = 0;
  for (std::string kind; in >> kind;) {
    if (kind == "V") {
      std::string view;
      std::string path;
      std::int64_t rendered = 0;
      in >> view >> path >> rendered;
      if (parts++ == 0 && (view != request.view || path != request.path))
        verdict.foreign = "the page " + view + " of " + path;
      if (rendered < request.rendered_after)
        verdict.stale = view + " of " + path + " was rendered before it was invalidated";
      ++depth;
    } else if (kind == "U" || kind == "Q") {
      std::string value;
      in >> value;
      if (value != (kind == "U" ? request.user : request.query))
        verdict.foreign = "the page of " + kind + " " + value;
    } else if (kind == "R") {
      int item = 0;
      std::uint64_t version = 0;
      in >> item >> version;
      const auto what = "item " + std::to_string(item) + " in version " + std::to_string(version);
      const auto least = request.least.find(item);
      if (least == request.least.end()) {
        verdict.foreign = what;
      } else if (version < least->second) {
        verdict.stale = what + ", but " + std::to_string(least->second) + " was acknowledged";
      } else if (const std::lock_guard lock(mutex_);
                 version > 0 && (version >= item_of_.size() || item_of_[version] != item)) {
        verdict.foreign = what + ", which this site never had";
      }
      const auto [other, first] = seen.try_emplace(item, version);
      if (!first && other->second != version)
        verdict.stale = what + " beside version " + std::to_string(other->second);
    } else if (kind == "E") {
      --depth;
    } else {
      verdict.foreign = "no page of the site";
    }
  }
  if (parts == 0 || depth != 0) verdict.foreign = "half a page";
  return verdict;
}

}  // namespace larder::e2e
