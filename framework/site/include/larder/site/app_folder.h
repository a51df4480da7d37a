// AppFolder: an app as a folder of files: app.toml, templates, scripts, SQL methods.
//
//   AppFolder folder("/srv/larder/handbook", clock);
//   Result<AppDefinition> app = folder.load();
//   ...
//   if (folder.changed()) {                       // once a second
//     if (auto next = folder.load()) swapIn(std::move(*next));
//     else log(next.error().message);             // what ran goes on running
//   }
//
// app.toml, whose keys are checked strictly:
//
//   library = "handbook.so"        # its native part, if it has one
//   [[type]]                       # of objects
//   name = "document"
//   default_view = "page"
//   [[view]]
//   name = "page"
//   for = "document"               # left out: for every object, and for routes
//   kind = "template"              # template | script | sql | native
//   file = "templates/page.tpl"    # not for native
//   model = "page_model"           # template: the view that fills its dictionary
//   include = { related = "related" }  # template: marker = view, inserted as it is
//   permission = "member"          # role that the visitor needs, for the action of its name, too
//   internal = true                # only for other views, not there over HTTP
//   manager = "fast"               # cache manager by id, or "none"
//   max_age = "10m"                # also stale_while_revalidate, stale_if_error
//   request_vars = ["param:page"]  # only these enter the key
//   memory = "32M"                 # script; also steps = 50000000, time = "5s"
//   [[route]]
//   pattern = "/members/{login}"
//   view = "member"                # or action = "save" with method = "POST"
//   [[action]]                     # of the library; says who may
//   name = "save"
//   for = "document"
//   permission = "editor"
//
// Used by one thread at a time. What it gives is independent of it.
#pragma once

#include <string>
#include <vector>

#include "larder/clock.h"
#include "larder/result.h"
#include "larder/site/app_definition.h"

namespace larder::site {

struct SeenFile;

class AppFolder {
 public:
  /// `clock` outlives the views that the folder defines.
  AppFolder(const std::string& folder, const Clock& clock);
  ~AppFolder();
  AppFolder(const AppFolder&) = delete;
  AppFolder& operator=(const AppFolder&) = delete;

  /// Reads everything anew. An error names file and line, with the folder. With a library, the
  /// definition is complete after addNative(); without, it has been checked.
  [[nodiscard]] Result<AppDefinition> load();

  /// Whether a file that the last load() read, or missed, is another one now. A few microseconds.
  [[nodiscard]] bool changed();

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  std::string folder_;
  const Clock& clock_;
  std::vector<SeenFile> seen_;
};

}  // namespace larder::site
