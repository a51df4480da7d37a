{{#any}}
<aside>
<h2>See also</h2>
<ul>
{{#items}}
<li><a href="{{url}}">{{title}}</a></li>
{{/items}}
</ul>
</aside>
{{/any}}
