{{>head.tpl}}
<h1>Recent changes</h1>
<table>
<tr><th>Page</th><th>Changed</th><th>Revision</th></tr>
{{#items}}
<tr><td><a href="{{url}}">{{title}}</a></td><td>{{when}}</td><td>{{revision}}</td></tr>
{{/items}}
</table>
{{>foot.tpl}}
