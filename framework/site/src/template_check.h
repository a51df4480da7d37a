// Checks a template's markers and the HTML around them, and writes it as ctemplate wants it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "larder/result.h"
#include "template_source.h"

namespace larder::site {

/// Names in the text for ctemplate that no author can write: what an include inserts, and a section
/// shown when another is not.
constexpr std::string_view kIncludePrefix = "__include_";
constexpr std::string_view kInvertedPrefix = "__not_";

struct CheckedTemplate {
  std::string text;  ///< for ctemplate, with the pragma for escaping
  /// Where each name first stands: "templates/page.tpl:12".
  std::map<std::string, std::string, std::less<>> names;
};

/// `includes`: markers that views fill.
[[nodiscard]] Result<CheckedTemplate> checkTemplate(const TemplateText& source,
                                                    const std::vector<std::string>& includes);

}  // namespace larder::site
