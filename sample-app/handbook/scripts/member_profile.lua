-- A member with all that is known of them: the largeish structured object of the app.
local id = math.tointeger(tonumber(request.variable("id")))
local row = id and site.row("member", id)
if not row then http.fail(404, "There is no such member.") end
local profile = json.decode(row.profile)
local properties = {}
for name, value in pairs(profile.properties) do
  properties[#properties + 1] = {name = name, text = tostring(value)}
end
return {
  title = profile.fullname,
  root = site.url(site.root()),
  login = row.login,
  active = profile.active,
  roles = profile.roles,
  groups = profile.groups,
  properties = properties,
  history = profile.history,
}
