#include "larder/server/importer.h"
#include "larder/view.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include "larder/cache/path.h"
#include "larder/cache/scope.h"
#include "larder/key.h"
#include "markdown.h"
#include "utf8.h"

namespace larder::server {
namespace {

namespace fs = std::filesystem;

/// "Getting started" of a folder "getting-started".
std::string titleOf(std::string name) {
  if (name.empty()) return "/";
  for (char& c : name)
    if (c == '-' || c == '_') c = ' ';
  if (name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

/// Part of every hash: a later version of the import that makes other pages of the same files
/// replaces them.
constexpr std::string_view kImportVersion = "1";
constexpr std::string_view kExtension = ".md";

std::string lowerCase(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

bool isMarkdown(std::string_view name) {
  return name.size() > kExtension.size() &&
         lowerCase(std::string(name.substr(name.size() - kExtension.size()))) == kExtension;
}

std::string_view stemOf(std::string_view name) {
  return name.substr(0, name.size() - kExtension.size());
}

bool isDots(std::string_view name) {
  return name == "." || name == "..";
}

/// Without its ending, unless that leaves what no path may hold: "..md" is about a command named
/// ".".
std::string pageName(std::string_view file_name) {
  return std::string(isDots(stemOf(file_name)) ? file_name : stemOf(file_name));
}

std::string join(std::string_view parent, std::string_view name) {
  return parent == "/" ? '/' + std::string(name) : std::string(parent) + '/' + std::string(name);
}

std::string_view lastSegment(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool isCanonicalPath(std::string_view path) {
  std::string scratch;
  const std::string encoded = urlPath(path);
  const auto canonical = cache::canonicalPath(encoded, scratch);
  return canonical.status == cache::PathStatus::ok && canonical.object == path &&
         canonical.view.empty();
}

std::string hashText(std::string_view content) {
  const Digest digest = digestOf(std::string(kImportVersion) + '\n' + std::string(content));
  std::ostringstream text;
  text << kImportVersion << ':' << std::hex << digest.high << '-' << digest.low;
  return text.str();
}

/// What is to become one object.
struct Source {
  fs::path file;         ///< empty: a folder only
  std::string relative;  ///< "linux/dpkg.md"
};

class Import {
 public:
  Import(site::Store& store, const ImportOptions& options) : store_(store), options_(options) {}

  ImportReport run() {
    collect(options_.folder, "", options_.to);
    makeFoldersAbove();
    std::vector<std::string> paths;
    paths.reserve(sources_.size());
    for (const auto& [path, source] : sources_) paths.push_back(path);
    // Parents come before what is in them: a path sorts before every path below it.
    for (std::size_t done = 0; done < paths.size() && !report_.stopped;) {
      const std::size_t end = std::min(done + options_.batch, paths.size());
      storeBatch({paths.data() + done, end - done});
      done = end;
      if (options_.progress && !options_.progress({done, paths.size()}))
        report_.stopped = done < paths.size();
    }
    return std::move(report_);
  }

 private:
  struct Page {
    std::string path;
    std::string title;
    std::string body;
    std::string relative;
    std::string hash;
  };

  void collect(const fs::path& folder, const std::string& relative, const std::string& path) {
    sources_.try_emplace(path);
    // In order of the names, so that of two files for one page the same is refused in each run.
    std::vector<fs::directory_entry> entries(fs::directory_iterator(folder), {});
    std::ranges::sort(entries);
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename().string();
      if (entry.is_symlink()) continue;
      const bool is_folder = entry.is_directory();
      if (!is_folder && !(entry.is_regular_file() && isMarkdown(name))) continue;
      if (name.starts_with('.') && (is_folder || !isDots(stemOf(name)))) continue;
      const std::string own = join(path, is_folder ? name : pageName(name));
      if (!isCanonicalPath(own)) {
        refuse(entry.path(), "no path of a site can hold this name; rename it");
        continue;
      }
      const std::string own_relative = relative + name;
      if (is_folder) {
        folders_.emplace(own_relative, own);
        collect(entry.path(), own_relative + '/', own);
      } else {
        Source& source = sources_[own];  // a page also where there is a folder
        if (!source.file.empty()) {
          refuse(entry.path(),
                 "makes the same page as " + source.relative + "; rename one of them");
          continue;
        }
        targets_.emplace(own_relative, own);
        source = {entry.path(), own_relative};
      }
    }
  }

  void makeFoldersAbove() {
    std::vector<std::string> above;
    for (std::string_view path = options_.to; path != "/" && !path.empty();) {
      path = parentPath(path);
      above.emplace_back(path);
    }
    std::ranges::reverse(above);
    if (above.empty()) return;
    store_.edit(
        [&](Edit& edit) {
          for (const std::string& path : above) makeFolder(edit, path);
        },
        "import");
  }

  void storeBatch(std::span<const std::string> paths) {
    // Files are read and links resolved before the transaction: it holds every other writer up.
    std::vector<std::pair<std::string, std::optional<Page>>> items;
    for (const std::string& path : paths) {
      const Source& source = sources_.at(path);
      std::optional<Page> page;
      if (!source.file.empty()) page = readPage(path, source);
      if (page || source.file.empty() || hasChildren(path))
        items.emplace_back(path, std::move(page));
    }
    ImportReport counted;
    store_.edit(
        [&](Edit& edit) {
          for (const auto& [path, page] : items) {
            if (page)
              storePage(edit, *page, counted);
            else
              counted.folders += makeFolder(edit, path) ? 1 : 0;
          }
        },
        "import");
    report_.folders += counted.folders;
    report_.created += counted.created;
    report_.changed += counted.changed;
    report_.unchanged += counted.unchanged;
  }

  [[nodiscard]] bool hasChildren(const std::string& path) const {
    const auto next = sources_.lower_bound(path + '/');
    return next != sources_.end() && next->first.starts_with(path + '/');
  }

  std::optional<Page> readPage(const std::string& path, const Source& source) {
    std::error_code ignored;
    const auto size = fs::file_size(source.file, ignored);
    if (!ignored && size > options_.max_file_size) {
      refuse(source.file, "larger than " + std::to_string(options_.max_file_size >> 20) +
                              "M; split it into several pages");
      return std::nullopt;
    }
    std::ifstream in(source.file, std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    if (!in) {
      refuse(source.file, "cannot be read; check its permissions");
      return std::nullopt;
    }
    std::string text = std::move(bytes).str();
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
    if (const auto at = findNonUtf8(text)) {
      refuse(source.file, "not UTF-8 (byte " + std::to_string(*at + 1) +
                              "); convert it, for example with iconv, and import again");
      return std::nullopt;
    }
    if (text.find('\0') != std::string::npos) {
      refuse(source.file, "holds a NUL byte, so it is no text");
      return std::nullopt;
    }
    Page page{.path = path, .title = {}, .body = {}, .relative = source.relative, .hash = {}};
    page.title = firstHeading(text).value_or("");
    if (page.title.empty()) page.title = lastSegment(path);
    page.body = rewriteLinks(
        text, [&](std::string_view target) { return newTarget(source.relative, target); });
    page.hash = hashText(page.path + '\n' + page.body);
    return page;
  }

  /// Where a link of the file `from` points to now, if it points into the folder.
  [[nodiscard]] std::optional<std::string> newTarget(const std::string& from,
                                                     std::string_view target) const {
    const auto tail_at = std::min(target.find_first_of("?#"), target.size());
    const std::string_view tail = target.substr(tail_at);
    const std::string_view file = target.substr(0, tail_at);
    if (file.empty() || file.starts_with('/') || file.find(':') < file.find('/'))
      return std::nullopt;
    const auto slash = from.rfind('/');
    std::string scratch;
    const std::string raw =
        '/' + (slash == std::string::npos ? "" : urlPath(from.substr(0, slash)) + '/') +
        std::string(file);
    const auto resolved = cache::canonicalPath(raw, scratch);
    if (resolved.status != cache::PathStatus::ok && resolved.status != cache::PathStatus::redirect)
      return std::nullopt;
    const std::string_view relative = resolved.full.substr(1);
    for (const auto* known : {&targets_, &folders_}) {
      if (const auto found = known->find(relative); found != known->end())
        return urlPath(found->second) + std::string(tail);
    }
    return std::nullopt;
  }

  static bool makeFolder(Edit& edit, const std::string& path) {
    if (edit.open(path)) return false;
    Object folder;
    folder.path = path;
    folder.name = lastSegment(path);
    folder.type = "folder";
    folder.title = titleOf(folder.name);
    edit.create(folder);
    return true;
  }

  static void storePage(Edit& edit, const Page& page, ImportReport& counted) {
    const ObjectPtr existing = edit.open(page.path);
    const std::string_view known =
        existing ? existing->properties.root()["import_hash"].text() : std::string_view();
    if (known == page.hash) {
      ++counted.unchanged;
      return;
    }
    Object object;
    if (existing) object = *existing;
    object.path = page.path;
    object.name = lastSegment(page.path);
    // What was a folder only shows its text from now on.
    if (!existing || (existing->type == "folder" && known.empty())) object.type = "document";
    object.title = page.title;
    object.body = page.body;
    Tree properties = Tree::of(object.properties.root());
    properties.set("import_source", page.relative).set("import_hash", page.hash);
    object.properties = Document::from(properties);
    if (existing) {
      edit.update(object, 0);
      ++counted.changed;
    } else {
      edit.create(object);
      ++counted.created;
    }
  }

  void refuse(const fs::path& file, const std::string& why) {
    report_.refused.push_back(file.string() + ": " + why);
  }

  site::Store& store_;
  const ImportOptions& options_;
  std::map<std::string, Source> sources_;                    ///< by object path
  std::map<std::string, std::string, std::less<>> targets_;  ///< files to paths
  std::map<std::string, std::string, std::less<>> folders_;
  ImportReport report_;
};

}  // namespace

ImportReport importMarkdown(site::Store& store, const ImportOptions& options, const Clock& clock) {
  const Millis start = clock.monotonic();
  ImportReport report = Import(store, options).run();
  report.duration = clock.monotonic() - start;
  return report;
}

}  // namespace larder::server
