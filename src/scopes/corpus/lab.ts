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
