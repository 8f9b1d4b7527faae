import { since } from '../../guard/corpus/first-version.js'

/** Queries whose names are hard to resolve. All run against the sample cinema with the guard's fixtures. */
export const TWISTED: readonly string[] = [
  // Joins that merge columns
  'SELECT film_work_id, genre_id, person_id FROM content.genre_film_work JOIN content.person_film_work USING (film_work_id)',
  'SELECT * FROM content.genre_film_work g JOIN (SELECT film_work_id, person_id FROM content.person_film_work) p USING (film_work_id)',
  'SELECT film_work_id, g.id AS a, p.id AS b FROM content.genre_film_work g RIGHT JOIN content.person_film_work p USING (film_work_id)',
  'SELECT film_work_id FROM content.genre_film_work g FULL JOIN content.person_film_work p USING (film_work_id)',
  'SELECT * FROM content.genre NATURAL JOIN (SELECT id, full_name FROM content.person) p',
  'SELECT j.film_work_id, g.genre_id FROM content.genre_film_work g JOIN content.person_film_work p USING (film_work_id) AS j',
  'SELECT j.a, j.c FROM (content.genre g CROSS JOIN content.genre h) AS j(a, b, c, d, e, f2, g2, h2, i2, j2)',
  'SELECT j.* FROM (content.genre_film_work JOIN content.film_work f ON f.id = film_work_id) j(a, b, c, d)',
  // Names that hide other names
  'SELECT title FROM content.film_work AS title(id, x, title)',
  'WITH film_work AS (SELECT name AS title FROM content.genre) SELECT f.title, w.title AS other FROM film_work f, content.film_work w',
  'WITH a AS (SELECT id FROM content.genre), b AS (WITH a AS (SELECT name FROM content.genre) SELECT * FROM a) SELECT b.*, a.* FROM a, b',
  'SELECT (SELECT name FROM (SELECT f.title AS name) s) AS n FROM content.film_work f, content.genre',
  'SELECT id, (SELECT max(f.rating) FROM content.film_work f WHERE f.id = g.id AND name IS NOT NULL) AS m FROM content.genre g',
  'SELECT x.id FROM content.genre x WHERE EXISTS (SELECT 1 FROM content.person x WHERE x.full_name = name)',
  'SELECT f.id, f.title AS id2 FROM content.film_work f ORDER BY id2, rating',
  'SELECT upper(name) AS name FROM content.genre GROUP BY name ORDER BY name',
  'SELECT count(*) AS n, type FROM content.film_work GROUP BY 2 ORDER BY 1',
  // Sides of set operations
  'SELECT id, title FROM content.film_work UNION ALL SELECT id, name FROM content.genre ORDER BY title',
  'SELECT id FROM content.film_work EXCEPT SELECT film_work_id FROM content.genre_film_work',
  '(SELECT id FROM content.film_work INTERSECT SELECT id FROM content.genre) UNION SELECT id FROM content.person',
  "VALUES (1, (SELECT max(title) FROM content.film_work)), (2, 'x')",
  'SELECT v.a, v.b FROM (VALUES (1, 2), (3, 4)) v(a, b), content.genre',
  // LATERAL
  'SELECT f.id, top.score FROM content.film_work f CROSS JOIN LATERAL (SELECT avg(r.rating) AS score FROM ugc.ratings r WHERE r.film_id = f.id) top',
  'SELECT d.id, t.tag, t.n FROM content.document d, unnest(d.tags) WITH ORDINALITY AS t(tag, n)',
  'SELECT d.id, tag FROM content.document d, unnest(d.tags) AS tag',
  'SELECT d.id, e.key, e.value, jsonb_typeof(value) AS t FROM content.document d, jsonb_each(d.body) e',
  "SELECT d.id, r.a FROM content.document d, jsonb_to_record(d.body) AS r(a int, b text) WHERE r.b <> ''",
  'SELECT g.n, d.id FROM content.document d, generate_series(1, d.whole) AS g(n)',
  'SELECT a.v, b.w FROM content.document d, ROWS FROM (jsonb_array_elements(d.body), generate_series(1, d.big)) AS a(v, w), LATERAL (SELECT a.w + d.whole AS w) b',
  'SELECT u.* FROM content.document d, unnest(ARRAY[d.pair]) AS u',
  // Recursion
  'WITH RECURSIVE r(a, b) AS (SELECT id, name FROM content.genre UNION SELECT id, b FROM content.person, r WHERE full_name = a::text AND r.b < full_name) SELECT b FROM r WHERE a IS NOT NULL',
  'WITH RECURSIVE r(n, a, b) AS (SELECT 1, title, description FROM content.film_work UNION ALL SELECT n + 1, b, a FROM r WHERE n < 3) SELECT n, a, b FROM r',
  'WITH RECURSIVE second AS (SELECT a FROM first), first AS (SELECT title AS a FROM content.film_work) SELECT a FROM second',
  'WITH RECURSIVE t(id, up) AS (SELECT whole, big FROM content.document UNION ALL SELECT d.whole, d.big FROM content.document d JOIN t ON t.up = d.whole) SEARCH DEPTH FIRST BY id SET ord CYCLE id SET loops USING path SELECT id, up, ord IS NULL AS o, loops, path IS NULL AS p FROM t',
  // Windows, aggregates, conditions
  'SELECT id, rank() OVER w AS place FROM content.film_work WINDOW w AS (PARTITION BY type ORDER BY rating DESC)',
  'SELECT film_id, sum(rating) FILTER (WHERE user_id IS NOT NULL) AS s, percentile_cont(0.5) WITHIN GROUP (ORDER BY rating) AS m FROM ugc.ratings GROUP BY film_id HAVING min(created) IS NOT NULL',
  "SELECT CASE WHEN f.type = 'movie' THEN f.title ELSE g.name END AS label FROM content.film_work f, content.genre g",
  'SELECT DISTINCT ON (film_id) film_id, rating FROM ugc.ratings ORDER BY film_id, modified DESC',
  'SELECT id IN (SELECT film_id FROM ugc.ratings WHERE rating > 5) AS liked, title IS DISTINCT FROM description AS differs FROM content.film_work',
  'SELECT grouping(type) AS g, type, count(d) AS n FROM content.film_work f, content.document d GROUP BY ROLLUP (type)',
  // Tables made of values
  since(
    17,
    "SELECT t.id, t.a FROM content.document d, JSON_TABLE(d.body, '$[*]' COLUMNS (id FOR ORDINALITY, a int PATH '$.a')) t",
  ),
  "SELECT x.a, d.id FROM content.document d, XMLTABLE('/r' PASSING d.note COLUMNS a int PATH 'a') x",
  'SELECT s.id FROM (SELECT id, title AS unread FROM content.film_work) s',
  'SELECT "Film Notes"."Id", content."Film Notes"."Select" FROM content."Film Notes"',
]
