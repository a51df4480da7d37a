-- A section: its children, sorted and filtered, a page at a time.
local PER_PAGE = 50
local SORTS = {
  {name = "name", label = "name", descending = false},
  {name = "title", label = "title", descending = false},
  {name = "modified", label = "last change", descending = true},
}

local filter = request.param("filter", "")
local wanted = request.param("sort", "name")
local sort = SORTS[1]
for _, s in ipairs(SORTS) do
  if s.name == wanted then sort = s end
end
local query = {sort = sort.name, descending = sort.descending, title_contains = filter}
local total = site.count(object.path, query)
local pages = math.max(1, (total + PER_PAGE - 1) // PER_PAGE)
local page = math.tointeger(tonumber(request.param("page", "1"))) or 1
page = math.max(1, math.min(page, pages))
query.offset = (page - 1) * PER_PAGE
query.limit = PER_PAGE

local items = {}
for i, child in ipairs(site.children(object.path, query)) do
  items[i] = {title = child.title, url = site.url(child.path), is_folder = child.type == "folder"}
end
local sorts = {}
for i, s in ipairs(SORTS) do
  sorts[i] = {name = s.name, label = s.label, selected = s.name == sort.name}
end

local crumbs = view(object.path, "crumbs")
return {
  title = object.title,
  root = site.url(site.root()),
  self = site.url(object.path),
  crumbs = crumbs,
  items = items,
  sorts = sorts,
  filter = filter,
  total = total,
  page = page,
  pages = pages,
  order = sort.name,
  previous = page > 1 and {number = page - 1} or false,
  next = page < pages and {number = page + 1} or false,
}
