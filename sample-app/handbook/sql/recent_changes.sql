-- The pages below an object that changed last.
-- param: below text
-- rows: 20
-- timeout: 2s
SELECT path, title, modified, revision
FROM object
WHERE type = 'document' AND path > rtrim(:below, '/') || '/' AND path < rtrim(:below, '/') || '0'
ORDER BY modified DESC, id DESC
LIMIT 20
