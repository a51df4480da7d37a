{{>head.tpl}}
<h1>{{title}}</h1>
<p>{{login}}{{#active}}, active{{/active}}</p>
<h2>Roles</h2>
<ul>{{#roles}}<li>{{value}}</li>{{/roles}}</ul>
<h2>Groups</h2>
<ul>{{#groups}}<li>{{title}} <small>{{id}}</small></li>{{/groups}}</ul>
<h2>Properties</h2>
<table>
{{#properties}}
<tr><th>{{name}}</th><td>{{text}}</td></tr>
{{/properties}}
</table>
<h2>History</h2>
<ul>{{#history}}<li>{{when}}: {{what}}</li>{{/history}}</ul>
{{>foot.tpl}}
