-- A user: roles, groups, property sheets, local roles, history; about 10 KB. The words are those of peers.py.
local WORDS = {"cache", "plugin", "server", "object", "value", "portal", "member", "folder", "document", "event",
  "news", "link", "image", "file", "topic", "workflow", "state", "review", "private", "public", "catalog", "index",
  "metadata", "query", "result", "batch", "view", "page", "layout"}
local number = request.arg(1)
local state = 1000 + number
local function below(bound)
  state = state * 6364136223846793005 + 1442695040888963407
  return (state >> 33) % bound
end
local function words(count)
  local out = {}
  for i = 1, count do out[i] = WORDS[below(#WORDS) + 1] end
  return table.concat(out, " ")
end

local groups = {}
for g = 1, 15 do
  groups[g] = {id = "group-" .. below(500), title = words(3), roles = {words(1), words(1), words(1)}, order = g}
end
local sheets = {}
for s = 0, 11 do
  local sheet = {}
  for f = 0, 13 do sheet["field" .. f] = f % 3 == 0 and below(1000000) or words(4) end
  sheets["sheet" .. s] = sheet
end
local local_roles = {}
for k = 0, 29 do
  local_roles["/portal/" .. words(1) .. "/" .. k] = k % 2 == 1 and {"Owner", "Editor"} or {"Reader"}
end
local history = {}
for h = 1, 60 do history[h] = {1230768000 + below(10000000), words(1), below(2) == 1} end
return {
  id = "user" .. number,
  login = "user" .. number .. "@example.org",
  fullname = words(2),
  active = true,
  score = below(10000) / 64,
  created = 1230768000 + below(10000000),
  roles = {"Member", "Authenticated", "Reviewer", "Contributor"},
  groups = groups,
  sheets = sheets,
  local_roles = local_roles,
  history = history,
  description = words(160),
}
