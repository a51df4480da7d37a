// Import of a folder of Markdown files: each file becomes an object of type "document", each folder
// one of type "folder".
//
//   ImportOptions options{.folder = "pages", .to = "/handbook"};
//   ImportReport report = importMarkdown(store, options, clock);    // may run again: only changes
//
// "linux/dpkg.md" becomes /handbook/linux/dpkg: its title is the first heading, its body the text,
// in which links to other files of the folder point to where those are now. A page remembers
// (properties import_source, import_hash) what it was made of: a file that has not changed since is
// skipped, also if the page has been edited; a file that has changed replaces the page's title and
// body. Nothing is removed. Pages are stored in batches of one transaction each, so that an import
// that was stopped goes on where it was, and a site that is being served stays responsive.
//
// Files that cannot become a page (not UTF-8, too large, a name that no path may hold, a page that
// another file makes) are listed in the report and left out; hidden ones, links and files of other
// kinds are passed over. Throws StoreError and std::filesystem::filesystem_error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "larder/clock.h"
#include "larder/site/store.h"

namespace larder::server {

struct ImportProgress {
  std::size_t done = 0;
  std::size_t total = 0;
};

struct ImportOptions {
  std::filesystem::path folder;
  std::string to;  ///< canonical
  std::size_t batch = 200;
  std::size_t max_file_size = std::size_t{8} << 20;  ///< bytes
  /// After each batch; returning false stops the import.
  std::function<bool(const ImportProgress&)> progress = {};
};

struct ImportReport {
  std::size_t created = 0;
  std::size_t changed = 0;
  std::size_t unchanged = 0;
  std::size_t folders = 0;  ///< made
  bool stopped = false;
  std::vector<std::string> refused;  ///< "pages/x.md: what is wrong; what to do"
  Millis duration = 0;

  [[nodiscard]] std::size_t pages() const noexcept { return created + changed + unchanged; }
};

ImportReport importMarkdown(site::Store& store, const ImportOptions& options, const Clock& clock);

}  // namespace larder::server
