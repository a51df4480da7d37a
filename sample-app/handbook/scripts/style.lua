return {
  status = 200,
  headers = {["Content-Type"] = "text/css; charset=utf-8", ["Cache-Control"] = "max-age=300"},
  body = [[
:root { --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0; --accent: #0b5f56; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --quiet: #9198a1; --line: #3d444d; --accent: #57c7b6; --paper: #12161b; }
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 16px/1.6 system-ui, sans-serif; }
header, main, footer { max-width: 52rem; margin: 0 auto; padding: 0 1rem; }
nav { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; padding: .8rem 0; border-bottom: 1px solid var(--line); }
nav form { flex: 1; }
nav input { width: 100%; max-width: 20rem; }
.brand { font-weight: 700; }
a { color: var(--accent); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
h1 { line-height: 1.2; }
small, .meta, .crumbs, footer { color: var(--quiet); }
input, select, textarea, button { font: inherit; color: inherit; background: var(--paper); padding: .3rem .6rem;
  border: 1px solid var(--line); border-radius: .3rem; }
button { border-color: var(--accent); color: var(--accent); cursor: pointer; }
.stacked label { display: block; margin: .8rem 0; }
.stacked input[type=text], .stacked input[type=password], textarea { display: block; width: 100%; }
textarea { font-family: ui-monospace, monospace; font-size: .9rem; }
.filter { display: flex; flex-wrap: wrap; gap: 1rem; align-items: end; }
.listing { columns: 14rem; padding-left: 1.2rem; }
.pages { display: flex; gap: 1rem; }
.problem { border-left: 4px solid #b3261e; padding: .3rem .8rem; }
blockquote { margin: 1rem 0; padding: 0 1rem; border-left: 4px solid var(--line); color: var(--quiet); }
pre, code { font-family: ui-monospace, monospace; font-size: .9em; }
pre { padding: .8rem; overflow-x: auto; border: 1px solid var(--line); border-radius: .3rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
aside { border-top: 1px solid var(--line); }
footer { margin-top: 3rem; padding-bottom: 2rem; font-size: .9rem; }
]],
}
