/** A small cinema of its own: every kind of join, and columns that can be NULL. */
export const LAB = `
CREATE SCHEMA lab;
CREATE TABLE lab.studio (id int PRIMARY KEY, name text, country text);
CREATE TABLE lab.film (id int PRIMARY KEY, title text, kind text NOT NULL, year int NOT NULL, studio_id int NOT NULL);
CREATE TABLE lab.person (id int PRIMARY KEY, name text);
CREATE TABLE lab.film_person (film_id int, person_id int, role text, PRIMARY KEY (film_id, person_id, role));
CREATE TABLE lab.rating (film_id int NOT NULL, user_id int NOT NULL, stars int NOT NULL, bucket int NOT NULL, note text,
  PRIMARY KEY (film_id, user_id));
CREATE TABLE lab.tag (id int PRIMARY KEY, film_id int, label text);
CREATE INDEX ON lab.film (studio_id);
CREATE INDEX ON lab.film (kind);
CREATE INDEX ON lab.film_person (person_id);
CREATE INDEX ON lab.tag (film_id);
CREATE INDEX ON lab.tag (label);
CREATE INDEX ON lab.rating (user_id);
CREATE VIEW lab.film_stats AS
  SELECT f.id AS film_id, f.studio_id, count(r.user_id) AS ratings, coalesce(sum(r.stars), 0) AS stars
    FROM lab.film f LEFT JOIN lab.rating r ON r.film_id = f.id GROUP BY f.id;
CREATE VIEW lab.casting AS
  SELECT fp.film_id, fp.person_id, p.name FROM lab.film_person fp LEFT JOIN lab.person p ON p.id = fp.person_id;
`

export const LAB_TABLES = ['studio', 'film', 'person', 'film_person', 'rating', 'tag'] as const
export type LabTable = (typeof LAB_TABLES)[number]

/** Enough rows for an index to be worth while: a film has 10 ratings, 3 people and 2 tags. */
export const LAB_ROWS = `
INSERT INTO lab.studio SELECT i, 's' || i, 'c' || i % 20 FROM generate_series(1, 300) i;
INSERT INTO lab.film SELECT i, md5(i::text), 'k' || i % 5, 1950 + i % 70, 1 + i % 300 FROM generate_series(1, 10000) i;
INSERT INTO lab.person SELECT i, md5(i::text) FROM generate_series(1, 5000) i;
INSERT INTO lab.film_person SELECT 1 + i % 10000, 1 + (i * 7919 + i / 10000 * 13) % 5000, 'r' || i % 3
  FROM generate_series(1, 30000) i ON CONFLICT DO NOTHING;
INSERT INTO lab.rating SELECT 1 + i % 10000, i / 10000 * 1000 + i % 1000, 1 + i % 5, i % 3, md5(i::text)
  FROM generate_series(0, 99999) i;
INSERT INTO lab.tag SELECT i, 1 + (i * 31) % 10000, 'l' || i % 500 FROM generate_series(1, 20000) i;
`
