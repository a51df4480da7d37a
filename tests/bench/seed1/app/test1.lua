-- 1,001 times four calls of the cached list.
local place = site.root()
local count = 0
for _ = 1, 1001 do
  for variant = 1, 4 do count = count + #view(place, "list", {variant}) end
end
return tostring(count)
