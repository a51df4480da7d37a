-- Pages below an object whose title or text has all the words, best first.
-- param: words text
-- param: below text
-- rows: 50
-- timeout: 2s
SELECT o.path, o.title
FROM object_fts s JOIN object o ON o.id = s.rowid
WHERE object_fts MATCH :words AND o.type = 'document' AND o.path > rtrim(:below, '/') || '/' AND o.path < rtrim(:below, '/') || '0'
ORDER BY bm25(object_fts, 5.0, 1.0), o.path
LIMIT 50
