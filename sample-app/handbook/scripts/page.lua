-- What surrounds a page's text.
local d = date.utc(object.modified)
return {
  title = object.title,
  root = site.url(site.root()),
  crumbs = view(object.path, "crumbs"),
  revision = object.revision,
  modified = string.format("%04d-%02d-%02d %02d:%02d", d.year, d.month, d.day, d.hour, d.minute),
  edit_url = site.url(object.path) .. "/@@edit",
}
