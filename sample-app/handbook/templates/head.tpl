<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<link rel="stylesheet" href="{{root}}/@@style.css">
</head>
<body>
<header>
<nav>
<a class="brand" href="{{root}}">Handbook</a>
<form action="{{root}}/@@search" method="get" role="search">
<input type="search" name="q" value="{{q}}" placeholder="Search" aria-label="Search">
</form>
<a href="{{root}}/@@recent">Recent changes</a>
<a href="{{root}}/@@login">Account</a>
</nav>
{{#crumbs}}{{#first}}<p class="crumbs">{{/first}}<a href="{{url}}">{{title}}</a> / {{#last}}</p>{{/last}}{{/crumbs}}
</header>
<main>
