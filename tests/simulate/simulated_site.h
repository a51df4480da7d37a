// SimulatedSite: one site of a simulation: its file, its processes, the program that edits the file
// behind their backs, its backup, and the oracle that knows what may be served.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation.h"
#include "site_process.h"

namespace larder::simulate {

class SimulatedSite {
 public:
  SimulatedSite(Surroundings& world, std::string folder, const std::vector<ViewDefinition>& views,
                std::size_t processes);
  /// A copy of another one that goes on by itself.
  SimulatedSite(const SimulatedSite& original, std::string folder, std::size_t processes);
  ~SimulatedSite();
  SimulatedSite& operator=(const SimulatedSite&) = delete;

  [[nodiscard]] std::size_t processes() const noexcept { return processes_.size(); }
  [[nodiscard]] SiteProcess& process(std::size_t i) noexcept { return *processes_[i]; }
  [[nodiscard]] const Oracle& oracle() const noexcept { return oracle_; }

  // Each is one step of the world: nobody else runs meanwhile.
  void edit(SiteProcess& process, Report& report);
  void editFromOutside(Report& report);
  void dropTriggerFromOutside();
  void invalidate(SiteProcess& process, Report& report);
  void redefineView();
  /// A process ends and begins anew; its fibers have ended.
  void restart(std::size_t process);
  void stop();
  void start();
  void backUp();
  [[nodiscard]] bool hasBackup() const noexcept { return backup_.has_value(); }
  /// Puts the backup in the place of the file. While the site runs, its processes notice at their
  /// next maintenance, which follows.
  void restoreBackup(bool running);

 private:
  struct Change {
    std::size_t item;
    Version version;
  };

  [[nodiscard]] std::string file() const { return folder_ + "/site.db"; }
  [[nodiscard]] Version newVersion() noexcept;
  void openOutside();
  void closeOutside();
  void outside(const std::string& sql);
  /// A transaction of the program that edits the file; it may see to it that no trigger runs.
  void commitOutside(const std::string& sql);
  /// One of two rows, the second of which is there already: the first stays.
  [[nodiscard]] bool failHalfwayOutside(std::vector<Change>& changes);
  void copyFile(const std::string& to) const;
  void acknowledge(const std::vector<Change>& changes);
  void note(const std::string& what) const;
  void changeObject(Edit& edit, std::vector<Change>& changes);
  void changeRow(Edit& edit, std::vector<Change>& changes);
  [[nodiscard]] std::string rowChange(std::vector<Change>& changes);

  Surroundings& world_;
  const std::string folder_;
  const std::vector<ViewDefinition>& views_;
  Oracle oracle_;
  std::vector<InputNames> known_inputs_;
  std::vector<std::unique_ptr<SiteProcess>> processes_;
  std::size_t wanted_ = 0;
  std::optional<Oracle::State> backup_;
  sqlite3* outside_ = nullptr;
};

}  // namespace larder::simulate
