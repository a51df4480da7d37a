#include "larder/cache/entry_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "envelope_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace larder {

namespace {

constexpr std::string_view kMagic{"LRDF\1\0\0\0", 8};
constexpr std::size_t kChecksumAt = 8;
constexpr std::size_t kCoveredAt = 16;
constexpr std::size_t kHeadSize = 32;
constexpr std::size_t kRecordHead = 12;
constexpr std::size_t kSweepStep = 256;

template <class Number>
void store(std::string& out, Number value) {
  for (unsigned i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

template <class Number>
Number load(const char* from) noexcept {
  Number value = 0;
  for (unsigned i = 0; i < sizeof value; ++i)
    value |= static_cast<Number>(Number{static_cast<unsigned char>(from[i])} << (8 * i));
  return value;
}

EnvelopeFormat formatOf(const Digest& name_space) {
  constexpr auto kAny = std::numeric_limits<std::size_t>::max();
  return EnvelopeFormat(name_space, {.secret = {}, .compress_above = kAny, .max_body = kAny});
}

struct Candidate {
  EntryPtr entry;
  std::uint8_t uses;
  std::size_t weight;
};

/// All entries that may be written, the most used first.
std::vector<Candidate> candidates(Cache& cache, Millis now) {
  std::vector<Candidate> found;
  const Cache::Expendable note = [&](const CacheEntry& entry) {
    if (!entry.is_private && entry.lifetime.end() > now)
      found.push_back(
          {EntryPtr(&entry), entry.uses.load(std::memory_order_relaxed), entry.weight()});
    return false;
  };
  // From where some other sweep stopped to the end, then from the beginning.
  while (cache.sweep(note, kSweepStep)) {
  }
  found.clear();
  while (cache.sweep(note, kSweepStep)) {
  }
  std::ranges::stable_sort(found, [](const Candidate& a, const Candidate& b) {
    if (a.uses != b.uses) return a.uses > b.uses;
    return std::uint64_t{a.entry->cost_us} * b.weight > std::uint64_t{b.entry->cost_us} * a.weight;
  });
  return found;
}

Error failed(const std::filesystem::path& file, const char* what) {
  const auto why = std::error_code(errno, std::generic_category()).message();
  return Error{file.string() + ": " + what + ": " + why};
}

constexpr std::string_view kUnfinished = ".new";

/// The process that saves, or saved, to this file, if it is of those that a TemporaryFile makes.
std::optional<pid_t> writerOf(std::string_view name, std::string_view final_name) {
  if (!name.starts_with(final_name) || !name.ends_with(kUnfinished)) return {};
  name.remove_suffix(kUnfinished.size());
  name.remove_prefix(std::min(final_name.size() + 1, name.size()));  // a dot
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || end != name.data() + name.size() || pid <= 0) return {};
  return pid;
}

/// A file under another name, gone unless it is renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& final_name)
      : path_(final_name.string() + "." + std::to_string(::getpid()).append(kUnfinished)),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(path_.c_str());
  }
  [[nodiscard]] bool write(std::string_view bytes) const noexcept {
    while (!bytes.empty()) {
      const auto n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  [[nodiscard]] bool writeAt(std::string_view bytes, off_t at) const noexcept {
    return ::pwrite(descriptor_, bytes.data(), bytes.size(), at) ==
           static_cast<ssize_t>(bytes.size());
  }
  [[nodiscard]] bool rename(const std::filesystem::path& to) noexcept {
    renamed_ = ::fsync(descriptor_) == 0 && ::rename(path_.c_str(), to.c_str()) == 0;
    if (!renamed_) return false;
    const int folder = ::open(to.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool kept = folder >= 0 && ::fsync(folder) == 0;
    if (folder >= 0) ::close(folder);
    return kept;
  }
  [[nodiscard]] bool isOpen() const noexcept { return descriptor_ >= 0; }

 private:
  std::string path_;
  int descriptor_;
  bool renamed_ = false;
};

}  // namespace

Result<std::size_t> EntryFile::save(Cache& cache, std::size_t budget) const {
  auto chosen = candidates(cache, clock_.monotonic());
  std::erase_if(chosen, [budget, total = std::size_t{0}](const Candidate& c) mutable {
    if (c.weight > budget - total) return true;
    total += c.weight;
    return false;
  });
  TemporaryFile out(file_);
  if (!out.isOpen()) return failed(file_, "cannot be written");
  std::string head(kMagic);
  store(head, std::uint64_t{0});
  store(head, name_space_.high);
  store(head, name_space_.low);
  XXH3_state_t sum;
  XXH3_64bits_reset(&sum);
  XXH3_64bits_update(&sum, head.data() + kCoveredAt, head.size() - kCoveredAt);
  if (!out.write(head)) return failed(file_, "cannot be written");

  const auto format = formatOf(name_space_);
  std::size_t count = 0;
  std::string record;
  for (auto it = chosen.rbegin(); it != chosen.rend(); ++it) {
    const CacheEntry& entry = *it->entry;
    const auto body = format.encode(entry, entry.key());
    if (!body) continue;  // a value that has no form outside of the process
    const auto envelope = format.seal(*body);
    if (envelope.size() > std::numeric_limits<std::uint32_t>::max()) continue;
    record.clear();
    store(record, static_cast<std::uint32_t>(entry.key().size()));
    store(record, static_cast<std::uint32_t>(envelope.size()));
    store(record, entry.partition);
    record.append(entry.key()).append(envelope);
    XXH3_64bits_update(&sum, record.data(), record.size());
    if (!out.write(record)) return failed(file_, "cannot be written");
    ++count;
  }
  std::string checksum;
  store(checksum, std::uint64_t{XXH3_64bits_digest(&sum)});
  if (!out.writeAt(checksum, kChecksumAt) || !out.rename(file_))
    return failed(file_, "cannot be written");
  return count;
}

void EntryFile::removeLeftovers() const noexcept try {
  const std::string own = file_.filename().string();
  for (const auto& found : std::filesystem::directory_iterator(file_.parent_path())) {
    const auto writer = writerOf(found.path().filename().string(), own);
    // In a container each run has the same number.
    const bool gone =
        writer && (*writer == ::getpid() || (::kill(*writer, 0) != 0 && errno == ESRCH));
    if (gone) ::unlink(found.path().c_str());
  }
} catch (const std::exception&) {  // they only take room
}

Result<std::size_t> EntryFile::restore(Cache& cache) const {
  std::ifstream in(file_, std::ios::binary);
  if (!in) {
    if (errno == ENOENT) return std::size_t{0};
    return failed(file_, "cannot be read");
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto refused = [this](const char* why) { return Error{file_.string() + " " + why}; };
  if (bytes.size() < kHeadSize || !bytes.starts_with(kMagic))
    return refused("is no file of entries of this version");
  if (load<std::uint64_t>(bytes.data() + kChecksumAt) !=
      XXH3_64bits(bytes.data() + kCoveredAt, bytes.size() - kCoveredAt))
    return refused("is damaged");
  const Digest owner{load<std::uint64_t>(bytes.data() + 16),
                     load<std::uint64_t>(bytes.data() + 24)};
  if (owner != name_space_) return refused("belongs to another cache manager");

  const auto format = formatOf(name_space_);
  std::size_t count = 0;
  std::string_view rest = bytes;
  rest.remove_prefix(kHeadSize);
  while (rest.size() >= kRecordHead) {
    const std::size_t key_size = load<std::uint32_t>(rest.data());
    const std::size_t envelope_size = load<std::uint32_t>(rest.data() + 4);
    const auto partition = load<std::uint32_t>(rest.data() + 8);
    rest.remove_prefix(kRecordHead);
    if (key_size + envelope_size > rest.size()) break;  // the checksum was right: cannot be
    const auto text = rest.substr(0, key_size);
    // A document keeps the bytes that it was made from: its own, not the file's.
    const auto envelope = std::make_shared<const std::string>(rest.substr(key_size, envelope_size));
    rest.remove_prefix(key_size + envelope_size);
    const CacheKey key{text, digestOf(text), partition};
    const auto opened = format.unseal({envelope, *envelope});
    if (opened.reason != Reason::none) continue;
    auto decoded = format.decode(opened.body, key, clock_.monotonic(), clock_.wall(), finish_);
    if (!decoded.entry) continue;
    if (cache.put(key, EntryPtr(std::move(decoded.entry)), kForever).ok) ++count;
  }
  return count;
}

}  // namespace larder
