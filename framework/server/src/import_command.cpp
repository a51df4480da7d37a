// larder import: a folder of Markdown files becomes a part of the site.
#include <unistd.h>

#include <iomanip>
#include <iostream>
#include <sstream>

#include "command_support.h"
#include "larder/cache/path.h"
#include "larder/cache/system_clock.h"
#include "larder/server/commands.h"
#include "larder/server/importer.h"
#include "signals.h"

namespace larder::server {
namespace {

double perSecond(std::size_t count, Millis duration) {
  return static_cast<double>(count) * 1000 / static_cast<double>(std::max<Millis>(duration, 1));
}

std::string bar(const ImportProgress& progress, Millis duration) {
  constexpr std::size_t kWidth = 40;
  const std::size_t total = std::max<std::size_t>(progress.total, 1);
  const std::size_t filled = progress.done * kWidth / total;
  std::ostringstream line;
  line << '[' << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] "
       << progress.done << '/' << progress.total << ' ' << progress.done * 100 / total << " %, "
       << std::fixed << std::setprecision(0) << perSecond(progress.done, duration) << " a second";
  return line.str();
}

/// Where the import goes: canonical, as it is written in a URL.
Result<std::string> targetPath(const std::string& text) {
  std::string scratch;
  const auto path = cache::canonicalPath(text, scratch);
  if ((path.status == cache::PathStatus::ok || path.status == cache::PathStatus::redirect) &&
      path.view.empty()) {
    return std::string(path.full);
  }
  return Error{"larder import: --to '" + text +
               "' is not a path of a site; write it like /handbook"};
}

int report(const ImportReport& report) {
  std::cout << "imported " << report.pages() << (report.pages() == 1 ? " page" : " pages") << " in "
            << std::fixed << std::setprecision(report.duration < 1'000 ? 3 : 1)
            << static_cast<double>(report.duration) / 1000 << " s (" << std::setprecision(0)
            << perSecond(report.pages(), report.duration) << " pages/second): " << report.created
            << " new, " << report.changed << " changed, " << report.unchanged << " unchanged; "
            << report.folders << " new folders; " << report.refused.size() << " files left out"
            << std::endl;
  for (const std::string& line : report.refused) std::cerr << line << '\n';
  if (report.stopped) std::cerr << "stopped; the same command goes on from here" << std::endl;
  return report.stopped || !report.refused.empty() ? kUndone : 0;
}

}  // namespace

int importCommand(const CommandLine& line) {
  if (!line.has("--to")) return cannotStart("larder import: say where to, like --to /handbook");
  const auto to = targetPath(*line.value("--to"));
  if (!to) return cannotStart(to.error().message);
  const std::string& folder = line.arguments.front();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return cannotStart(folder + ": not a folder; name the one that holds the Markdown files");
  const auto config = configOf(line);
  if (!config) return kCannotStart;

  const SystemClock clock;
  const Millis start = clock.monotonic();
  Signals signals;
  const bool to_terminal = ::isatty(STDERR_FILENO) == 1;
  try {
    site::StoreOptions options;
    options.data_dir = config->data;
    options.clock = &clock;
    options.full_sync = config->store.full_sync;
    options.writer_wait = config->store.writer_wait;
    const auto store = site::Store::open(std::move(options));
    const auto done = importMarkdown(
        *store,
        {.folder = folder,
         .to = *to,
         .progress =
             [&](const ImportProgress& progress) {
               if (to_terminal)
                 std::cerr << '\r' << bar(progress, clock.monotonic() - start)
                           << (progress.done == progress.total ? "\n" : "") << std::flush;
               return !signals.wait(0);
             }},
        clock);
    return report(done);
  } catch (const site::StoreError& e) {
    return cannotStart(e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    return cannotStart(e.path1().string() + ": " + e.code().message());
  }
}

}  // namespace larder::server
