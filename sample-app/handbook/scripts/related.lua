-- Pages that this one points at: what it names in `code` on a line "See also: ...", if there is such a page beside it.
local parent = re.match(object.path, "^(.*)/[^/]*$")
local items, seen = {}, {[object.name] = true}
for line in re.gmatch(object.body, "(?m)^>? ?See also:? .*$") do
  for name in re.gmatch(line, "`([^`/]+)`") do
    local slug = re.gsub(name, " ", "-")
    if not seen[slug] and #items < 10 then
      seen[slug] = true
      local page = site.open(parent .. "/" .. slug)
      if page and page.type == "document" then
        items[#items + 1] = {title = page.title, url = site.url(page.path)}
      end
    end
  end
end
return {any = #items > 0, items = items}
