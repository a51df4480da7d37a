{{>head.tpl}}
<h1>Log in</h1>
{{#problem}}
<p class="problem">{{problem}}</p>
{{/problem}}
<form class="stacked" method="post" action="{{root}}/@@login">
<input type="hidden" name="csrf" value="{{csrf}}">
<input type="hidden" name="next" value="{{next}}">
<label>Name <input type="text" name="login" value="{{login}}" autocomplete="username" autofocus></label>
<label>Password <input type="password" name="password" autocomplete="current-password"></label>
<button>Log in</button>
</form>
{{#user}}
<form method="post" action="{{root}}/@@logout">
<input type="hidden" name="csrf" value="{{csrf}}">
<p>You are logged in as {{user}}. <button>Log out</button></p>
</form>
{{/user}}
{{>foot.tpl}}
