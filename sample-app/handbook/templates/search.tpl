{{>head.tpl}}
<h1>Search</h1>
{{#q}}
<p>{{count}} pages match <q>{{q}}</q>.</p>
{{/q}}
{{#problem}}
<p class="problem">{{problem}}</p>
{{/problem}}
<ul>
{{#items}}
<li><a href="{{url}}">{{title}}</a> <small>{{path}}</small></li>
{{/items}}
</ul>
{{>foot.tpl}}
