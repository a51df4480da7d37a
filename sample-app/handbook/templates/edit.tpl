{{>head.tpl}}
<h1>Edit {{heading}}</h1>
{{#problem}}
<p class="problem">{{problem}}</p>
{{/problem}}
<form class="stacked" method="post" action="{{self}}/@@edit">
<input type="hidden" name="csrf" value="{{csrf}}">
<input type="hidden" name="revision" value="{{revision}}">
<label>Title <input type="text" name="title" value="{{page_title}}"></label>
<label>Text <textarea name="body" rows="24">
{{body}}</textarea></label>
<button>Save</button> <a href="{{self}}">Cancel</a>
</form>
{{#current}}
<h2>What the page holds now</h2>
<pre>{{current}}</pre>
{{/current}}
{{>foot.tpl}}
