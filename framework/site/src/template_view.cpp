#include "larder/site/template_view.h"

#include <ctemplate/template.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <stdexcept>

#include "template_check.h"
#include "template_dictionary.h"
#include "template_source.h"

namespace larder::site {
namespace {

/// The template's own arguments: its model gets them, too (a form shown again with what was typed).
std::vector<Tree> argumentsOf(RenderContext& context) {
  std::vector<Tree> arguments;
  while (true) {
    const Node& argument = context.arg(arguments.size());
    if (argument.isNull()) return arguments;
    arguments.push_back(Tree::of(argument));
  }
}

/// ctemplate counts the templates it deletes, without a lock.
struct TemplateDeleter {
  void operator()(ctemplate::Template* compiled) const noexcept {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    delete compiled;
  }
};
using TemplatePtr = std::unique_ptr<ctemplate::Template, TemplateDeleter>;

class TemplateView final : public View {
 public:
  TemplateView(TemplateSource source, TemplatePtr compiled, CheckedTemplate checked)
      : source_(std::move(source)),
        compiled_(std::move(compiled)),
        names_(std::move(checked.names)) {
    // A template that names nothing of its object does not depend on it.
    for (const auto& [name, where] : names_)
      reads_data_ = reads_data_ || !name.starts_with(kIncludePrefix);
  }

  Value render(RenderContext& context) override {
    Document model;
    if (!source_.model.empty()) {
      Value value = context.call(context.path(), source_.model, argumentsOf(context));
      if (value.isPage()) return value;
      model = value.document();
      if (model.root().type() != Node::Type::map)
        throw std::runtime_error(source_.file + ": the model '" + source_.model +
                                 "' has to give a map");
    } else if (reads_data_) {
      model = objectMap(context.object());
    }

    Expansion expansion;
    for (const auto& [marker, view] : source_.includes)
      expansion.includes.emplace(marker, bodyOf(context, view));

    Page page;
    page.headers.push_back({"Content-Type", "text/html; charset=utf-8"});
    page.body.reserve(usual_size_.load(std::memory_order_relaxed));
    const NodeDictionary dictionary(expansion, model.root(), nullptr);
    if (!compiled_->Expand(&page.body, &dictionary))
      throw std::runtime_error(source_.file + ": ctemplate could not expand it");
    if (!expansion.misused.empty()) {
      const auto where = names_.find(expansion.misused);
      throw std::runtime_error((where == names_.end() ? source_.file : where->second) + ": {{" +
                               expansion.misused + "}} is a list or a map; {{#" +
                               expansion.misused + "}} shows it");
    }
    usual_size_.store(page.body.size(), std::memory_order_relaxed);
    return page;
  }

 private:
  static Document objectMap(const ObjectPtr& object) {
    Tree map = Tree::map();
    if (object) {
      map.set("path", object->path)
          .set("name", object->name)
          .set("type", object->type)
          .set("title", object->title)
          .set("body", object->body)
          .set("revision", object->revision)
          .set("properties", Tree::of(object->properties.root()))
          .set("tags", Tree::list(Tree::List(object->tags.begin(), object->tags.end())));
    }
    return Document::from(map);
  }

  [[nodiscard]] std::string bodyOf(RenderContext& context, const std::string& view) const {
    const Value value = context.call(context.path(), view, {});
    const auto page = value.page();
    if (!page)
      throw std::runtime_error(source_.file + ": the included view '" + view + "' gives no page");
    if (page->status != 200 && page->status != 204)
      throw std::runtime_error(source_.file + ": the included view '" + view +
                               "' answers with status " + std::to_string(page->status));
    return std::string(page->body);
  }

  TemplateSource source_;
  TemplatePtr compiled_;
  std::map<std::string, std::string, std::less<>> names_;
  bool reads_data_ = false;
  std::atomic<std::size_t> usual_size_{0};
};

}  // namespace

Result<LoadedTemplate> loadTemplateView(const TemplateSource& source, const ReadFile& reader) {
  Result<TemplateText> text = TemplateText::read(reader, source.file);
  if (!text) return text.error();
  std::vector<std::string> markers;
  markers.reserve(source.includes.size());
  for (const auto& [marker, view] : source.includes) markers.push_back(marker);
  Result<CheckedTemplate> checked = checkTemplate(*text, markers);
  if (!checked) return checked.error();
  // A template of its own, in none of ctemplate's caches: it lives as long as the view.
  TemplatePtr compiled(ctemplate::Template::StringToTemplate(
      checked->text.data(), checked->text.size(), ctemplate::STRIP_BLANK_LINES));
  if (!compiled)
    return Error{source.file +
                 ": ctemplate cannot follow its HTML; it says more on the standard error output"};
  LoadedTemplate loaded;
  loaded.files = text->files();
  loaded.text = text->text();
  loaded.view = std::make_shared<TemplateView>(source, std::move(compiled), std::move(*checked));
  return loaded;
}

}  // namespace larder::site
