-- A page of 62 members.
local place = site.root()
local count = 0
for number = 1, 62 do count = count + #view(place, "user", {number}).history end
return tostring(count)
