</main>
<footer>Served by Larder.</footer>
</body>
</html>
