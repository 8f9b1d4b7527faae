/** Objects that the corpora need besides the sample cinema: harmless ones, and traps that an administrator may have left. */
export const FIXTURES = `
CREATE SCHEMA archive;
CREATE TYPE content.mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE public.colour AS ENUM ('red', 'green');
CREATE DOMAIN content.score AS integer CHECK (VALUE BETWEEN 0 AND 10);
CREATE TYPE content.pair AS (a integer, b text);
CREATE COLLATION content.german (provider = icu, locale = 'de-DE');
CREATE TABLE content.document (
  id bigint PRIMARY KEY, body jsonb NOT NULL, plain json, tags text[] NOT NULL DEFAULT '{}', period tstzrange,
  mood content.mood, score content.score, colour public.colour, pair content.pair, note xml, address inet, place point,
  bits bit varying(8), raw bytea, price money, search tsvector, stamp timestamp, day date, hour time, span interval,
  word character varying(20), letter character(1), whole smallint, big bigint, real4 real, real8 double precision,
  kind text COLLATE "C", "Mixed Case" text);
CREATE TABLE content."Film Notes" ("Id" bigint PRIMARY KEY, "Select" text);
CREATE TABLE public.notes (id integer);
CREATE TABLE content.event (id bigint, at timestamptz NOT NULL) PARTITION BY RANGE (at);
CREATE TABLE content.event_2025 PARTITION OF content.event FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE VIEW content.film_short AS SELECT id, title, rating FROM content.film_work WHERE rating > 5;
CREATE VIEW content.film_shorter AS SELECT id, upper(title) AS title FROM content.film_short;
CREATE MATERIALIZED VIEW content.film_summary AS SELECT type, count(*) AS films FROM content.film_work GROUP BY type;

-- Traps
CREATE SEQUENCE content.counter;
CREATE TABLE content.hidden (id integer);
CREATE TABLE archive.old_events (id bigint);
CREATE FUNCTION content.wipe() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN DELETE FROM content.genre; RETURN 1; END';
CREATE FUNCTION content.wipe(record) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE FUNCTION content.shout(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT upper($1)';
CREATE FUNCTION public.shout(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT upper($1)';
CREATE FUNCTION content.film_label(content.film_work) RETURNS text LANGUAGE sql STABLE AS 'SELECT $1.title';
CREATE FUNCTION public.film_label(content.film_work) RETURNS text LANGUAGE sql STABLE AS 'SELECT $1.title';
CREATE FUNCTION content.all_users() RETURNS SETOF auth.users LANGUAGE sql SECURITY DEFINER AS 'SELECT * FROM auth.users';
CREATE FUNCTION auth.secret() RETURNS text LANGUAGE sql AS 'SELECT ''x''';
CREATE FUNCTION content.same(integer, integer) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN $1 = $2; END';
CREATE OPERATOR content.=== (LEFTARG = integer, RIGHTARG = integer, FUNCTION = content.same);
CREATE AGGREGATE content.median(numeric) (SFUNC = numeric_add, STYPE = numeric);
CREATE FUNCTION content.fits(integer) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE DOMAIN content.haunted AS integer CHECK (content.fits(VALUE));
CREATE DOMAIN content.sleepy AS integer CHECK (pg_sleep(VALUE) IS NOT NULL);
CREATE VIEW content.leaky AS SELECT login, email FROM auth.users;
CREATE VIEW content.leaky_twice AS SELECT login FROM content.leaky;
CREATE MATERIALIZED VIEW content.users_copy AS SELECT login FROM auth.users;
CREATE VIEW content.roles_seen AS SELECT rolname FROM pg_catalog.pg_authid;
CREATE VIEW content.file_seen AS SELECT pg_read_file('/etc/hostname') AS text;
CREATE VIEW content.settings_seen AS SELECT current_setting('data_directory') AS setting;
CREATE VIEW content.tables_seen AS SELECT table_name::text FROM information_schema.tables;
CREATE VIEW content.calls_function AS SELECT content.shout(title) AS title FROM content.film_work;
CREATE VIEW content.locks AS SELECT id FROM content.film_work FOR UPDATE;
CREATE EXTENSION postgres_fdw;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw;
CREATE FOREIGN TABLE content.remote_film (id uuid) SERVER elsewhere;
CREATE VIEW content.over_remote AS SELECT id FROM content.remote_film;
CREATE TABLE content.scattered (id bigint) PARTITION BY RANGE (id);
CREATE TABLE archive.scattered_1 PARTITION OF content.scattered FOR VALUES FROM (1) TO (100);
CREATE TABLE content.parent (id bigint);
CREATE TABLE archive.child () INHERITS (content.parent);

-- A type whose casts and whose equality run user code.
CREATE TYPE content.odd AS (n integer);
CREATE FUNCTION content.odd_to_int(content.odd) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1.n; END';
CREATE CAST (content.odd AS integer) WITH FUNCTION content.odd_to_int(content.odd) AS IMPLICIT;
CREATE FUNCTION content.odd_compare(content.odd, content.odd) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT ($1).n - ($2).n';
CREATE FUNCTION content.odd_less(content.odd, content.odd) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT ($1).n < ($2).n';
CREATE FUNCTION content.odd_same(content.odd, content.odd) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT ($1).n = ($2).n';
CREATE OPERATOR content.< (LEFTARG = content.odd, RIGHTARG = content.odd, FUNCTION = content.odd_less);
CREATE OPERATOR content.= (LEFTARG = content.odd, RIGHTARG = content.odd, FUNCTION = content.odd_same);
CREATE OPERATOR CLASS content.odd_order DEFAULT FOR TYPE content.odd USING btree AS
  OPERATOR 1 content.<, OPERATOR 3 content.=, FUNCTION 1 content.odd_compare(content.odd, content.odd);
CREATE TABLE content.odd_ones (id integer, odd content.odd);

GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;
REVOKE ALL ON content.hidden FROM vitrina_reader;
`
