// Template views: ctemplate, with every value escaped for the place in the HTML where it stands.
//
//   auto loaded = loadTemplateView({.file = "templates/page.tpl", .model = "page_model",
//                                   .includes = {{"related", "related"}}}, read_file);
//
//   <h1>{{title}}</h1>
//   {{#items}}<li><a href="{{url}}">{{title}}</a></li>{{/items}}
//   {{^items}}<p>Nothing here yet.{{/items}}
//   {{related}}
//   {{>footer.tpl}}
//
// The dictionary is the map that the model view gives (which gets the arguments of the template's
// call), or without a model the object: path, name, type, title, body, revision, properties, tags.
// {{key}} stands for a text, number or boolean. A section {{#key}}...{{/key}} is shown once for
// each item of a list, with the item's keys; once for a map, with its keys; and for everything else
// if it is there: not null, false, an empty text, list or map. {{^key}} is shown if {{#key}} is
// not; {{#key_separator}} inside {{#key}} between items. Keys are looked up in the item, then
// outwards; an item that is no map is {{value}}. An absent key is nothing.
//
// An include inserts the body of a view's page as it is. {{>file}} inserts another file's text
// before anything is parsed; its name is relative to the folder of the file that names it.
// Lines that hold nothing but a section's or comment's marker leave no line. The delimiters
// cannot be changed.
//
// Refused, with file and line, is what escaping does not cover: data that names a tag or an
// attribute, in an unquoted value, in formaction, xlink:href, srcdoc, a refreshing meta or SVG
// animation, as the address of a script, embedded object or base, in an event handler without a
// modifier ({{x:j}} inside quotes, {{x:J=number}} outside); a section after which the HTML goes on
// elsewhere than before it; a modifier that does not fit its place, above all `none`.
//
// A model that gives a page (a redirect, say) answers instead of the template.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "larder/result.h"
#include "larder/view.h"

namespace larder::site {

struct TemplateSource {
  std::string file;   ///< below the app's folder, as messages show it
  std::string model;  ///< name of the view that gives the dictionary; empty: the object
  std::vector<std::pair<std::string, std::string>> includes;  ///< marker, name of the view
};

struct LoadedTemplate {
  /// Shared by all threads; compiled once.
  std::shared_ptr<View> view;
  std::vector<std::string> files;  ///< that it was read from; its own first
  std::string text;                ///< of all of them together
};

/// The text of a file below the app's folder; an error begins with its name.
using ReadFile = std::function<Result<std::string>(const std::string& file)>;

[[nodiscard]] Result<LoadedTemplate> loadTemplateView(const TemplateSource& source,
                                                      const ReadFile& reader);

}  // namespace larder::site
