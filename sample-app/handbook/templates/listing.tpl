{{>head.tpl}}
<h1>{{title}}</h1>
<form class="filter" method="get" action="{{self}}">
<label>Title contains <input type="text" name="filter" value="{{filter}}"></label>
<label>Sort by
<select name="sort">
{{#sorts}}
<option value="{{name}}"{{#selected}} selected{{/selected}}>{{label}}</option>
{{/sorts}}
</select></label>
<button>Show</button>
</form>
<p>{{total}} entries{{#filter}} whose title contains <q>{{filter}}</q>{{/filter}}.</p>
<ul class="listing">
{{#items}}
<li><a href="{{url}}">{{title}}</a>{{#is_folder}} <small>section</small>{{/is_folder}}</li>
{{/items}}
</ul>
<p class="pages">
{{#previous}}<a rel="prev" href="{{self}}?page={{number}}&amp;sort={{order}}&amp;filter={{filter}}">Previous</a>{{/previous}}
<span>Page {{page}} of {{pages}}</span>
{{#next}}<a rel="next" href="{{self}}?page={{number}}&amp;sort={{order}}&amp;filter={{filter}}">Next</a>{{/next}}
</p>
{{>foot.tpl}}
