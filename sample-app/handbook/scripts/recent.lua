-- The pages that changed last.
local items = {}
for i, row in ipairs(sql("recent_changes", {below = site.root()})) do
  local d = date.utc(row.modified)
  items[i] = {
    title = row.title,
    url = site.url(row.path),
    revision = row.revision,
    when = string.format("%04d-%02d-%02d %02d:%02d", d.year, d.month, d.day, d.hour, d.minute),
  }
end
return {title = "Recent changes", root = site.url(site.root()), items = items}
