-- The front page: the sections, and what changed last.
local root = site.root()
local sections = {}
for i, child in ipairs(site.children(root, {type = "folder", sort = "title", limit = 100})) do
  sections[i] = {
    title = child.title,
    url = site.url(child.path),
    count = site.count(child.path, {type = "document"}),
  }
end
local top = site.open(root)
return {
  title = top and top.title or "Handbook",
  root = site.url(root),
  sections = sections,
  recent = view(root, "recent_model").items,
}
