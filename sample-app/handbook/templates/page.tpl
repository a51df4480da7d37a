{{>head.tpl}}
<article>
{{content}}
</article>
{{related}}
<p class="meta">Revision {{revision}}, changed {{modified}}. <a href="{{edit_url}}">Edit</a></p>
{{>foot.tpl}}
