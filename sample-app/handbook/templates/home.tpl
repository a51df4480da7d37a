{{>head.tpl}}
<h1>{{title}}</h1>
<h2>Sections</h2>
<ul class="sections">
{{#sections}}
<li><a href="{{url}}">{{title}}</a> <small>{{count}} pages</small></li>
{{/sections}}
{{^sections}}
<li>Nothing is here yet. Bring pages with <code>larder import FOLDER --to {{root}}</code>.</li>
{{/sections}}
</ul>
<h2>Recent changes</h2>
<ul>
{{#recent}}
<li><a href="{{url}}">{{title}}</a> <small>{{when}}</small></li>
{{/recent}}
</ul>
{{>foot.tpl}}
