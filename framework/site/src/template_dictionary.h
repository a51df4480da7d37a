// A document as ctemplate's dictionary, read in place. Lives during one expansion.
#pragma once

#include <ctemplate/template_dictionary_interface.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "larder/document.h"

namespace larder::site {

/// What one expansion needs beside the document.
struct Expansion {
  /// What views give for includes, by marker; inserted as it is.
  std::map<std::string, std::string, std::less<>> includes;
  /// Texts of numbers; ctemplate keeps views of them.
  std::deque<std::string> texts;
  /// The first {{name}} that stands for a list or a map.
  std::string misused;
};

class NodeDictionary final : public ctemplate::TemplateDictionaryInterface {
 public:
  /// All outlive it; `outer` may be null.
  NodeDictionary(Expansion& expansion, const Node& node, const NodeDictionary* outer)
      : expansion_(expansion), node_(&node), outer_(outer) {}

 protected:
  [[nodiscard]] ctemplate::TemplateString GetValue(
      const ctemplate::TemplateString& variable) const override;
  [[nodiscard]] bool IsHiddenSection(const ctemplate::TemplateString& name) const override;
  [[nodiscard]] bool IsUnhiddenSection(const ctemplate::TemplateString& name) const override;
  [[nodiscard]] Iterator* CreateSectionIterator(
      const ctemplate::TemplateString& section) const override;
  // Templates of ctemplate's own that include others do not exist here.
  [[nodiscard]] bool IsHiddenTemplate(const ctemplate::TemplateString& name) const override;
  [[nodiscard]] const char* GetIncludeTemplateName(const ctemplate::TemplateString& variable,
                                                   int number) const override;
  [[nodiscard]] Iterator* CreateTemplateIterator(
      const ctemplate::TemplateString& section) const override;
  void DumpToString(std::string* out, int level) const override;

 private:
  class Items;
  /// The value of a name, looked up outwards; null when there is none.
  [[nodiscard]] const Node* find(std::string_view name) const;

  Expansion& expansion_;
  const Node* node_;
  const NodeDictionary* outer_;
};

}  // namespace larder::site
