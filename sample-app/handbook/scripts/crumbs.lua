-- The way from the front page down to an object: {title, url, first, last} of each ancestor.
local root = site.root()
local crumbs = {}
local at = ""
for segment in re.gmatch(object.path, "/[^/]+") do
  at = at .. segment
  if at ~= object.path and #at >= #root then
    local ancestor = site.open(at)
    crumbs[#crumbs + 1] = {title = ancestor and ancestor.title or segment, url = site.url(at)}
  end
end
if #crumbs > 0 then
  crumbs[1].first = true
  crumbs[#crumbs].last = true
end
return crumbs
