-- 25 dictionaries of Title, Description and url. The words are those of peers.py.
local WORDS = {"cache", "plugin", "server", "object", "value", "portal", "member", "folder", "document", "event",
  "news", "link", "image", "file", "topic", "workflow", "state", "review", "private", "public", "catalog", "index",
  "metadata", "query", "result", "batch", "view", "page", "layout"}
local state = 1
local function words(count, capital)
  local out = {}
  for i = 1, count do
    state = state * 6364136223846793005 + 1442695040888963407
    local word = WORDS[(state >> 33) % #WORDS + 1]
    out[i] = capital and string.upper(string.sub(word, 1, 1)) .. string.sub(word, 2) or word
  end
  return table.concat(out, " ")
end

local variant = request.arg(1)
local list = {}
for i = 0, 24 do
  list[i + 1] = {
    Title = words(4, true),
    Description = words(12),
    url = "http://localhost:8080/portal/folder-" .. i % 5 .. "/document-" .. i .. "?" .. variant,
  }
end
return list
