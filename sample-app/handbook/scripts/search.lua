-- Full-text search.
local q = request.param("q", "")
local result = {title = "Search", root = site.url(site.root()), q = q, items = {}, count = 0, problem = false}
-- Each word as FTS5 takes it literally; all must occur.
local words = {}
for word in re.gmatch(q, "[^\\s\"]+") do
  if #words < 8 then words[#words + 1] = '"' .. word .. '"' end
end
if #words == 0 then
  if q ~= "" then result.problem = "Type at least one word." end
  return result
end
for i, row in ipairs(sql("search_pages", {words = table.concat(words, " "), below = site.root()})) do
  result.items[i] = {title = row.title, path = row.path, url = site.url(row.path)}
end
result.count = #result.items
return result
