-- The sample online cinema: three services, three schemas, one database.
-- Everything may be run again: what exists stays as it is, with its rows.
-- No foreign key crosses a schema, because a service owns its schema and answers for it alone;
-- `ugc.*.film_id` and `user_id` point by value only.

-- Two processes that start at once would both find a schema missing, and the slower one would fail.
SELECT pg_advisory_xact_lock(hashtext('vitrina.cinema'));

CREATE SCHEMA IF NOT EXISTS content;
CREATE SCHEMA IF NOT EXISTS ugc;
CREATE SCHEMA IF NOT EXISTS auth;

-- content: what can be watched ------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS content.film_work (
  id            uuid PRIMARY KEY,
  title         text NOT NULL,
  description   text,
  creation_date date,
  rating        numeric(3,1) CHECK (rating BETWEEN 0 AND 10),
  type          text NOT NULL CHECK (type IN ('movie', 'tv_show')),
  created       timestamptz NOT NULL DEFAULT now(),
  modified      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS content.genre (
  id          uuid PRIMARY KEY,
  name        text NOT NULL UNIQUE,
  description text,
  created     timestamptz NOT NULL DEFAULT now(),
  modified    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS content.person (
  id        uuid PRIMARY KEY,
  full_name text NOT NULL,
  created   timestamptz NOT NULL DEFAULT now(),
  modified  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS content.genre_film_work (
  id           uuid PRIMARY KEY,
  film_work_id uuid NOT NULL REFERENCES content.film_work ON DELETE CASCADE,
  genre_id     uuid NOT NULL REFERENCES content.genre ON DELETE CASCADE,
  created      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (film_work_id, genre_id)
);

CREATE TABLE IF NOT EXISTS content.person_film_work (
  id           uuid PRIMARY KEY,
  film_work_id uuid NOT NULL REFERENCES content.film_work ON DELETE CASCADE,
  person_id    uuid NOT NULL REFERENCES content.person ON DELETE CASCADE,
  role         text NOT NULL CHECK (role IN ('actor', 'director', 'writer')),
  created      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (film_work_id, person_id, role)
);

-- auth: who watches -----------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS auth.users (
  id        uuid PRIMARY KEY,
  login     text NOT NULL UNIQUE,
  email     text NOT NULL,
  full_name text,
  country   text,
  created   timestamptz NOT NULL DEFAULT now(),
  modified  timestamptz NOT NULL DEFAULT now()
);

-- ugc: what the watchers leave behind -----------------------------------------------------------

CREATE TABLE IF NOT EXISTS ugc.ratings (
  id       uuid PRIMARY KEY,
  film_id  uuid NOT NULL,
  user_id  uuid NOT NULL,
  rating   smallint NOT NULL CHECK (rating BETWEEN 1 AND 10),
  created  timestamptz NOT NULL DEFAULT now(),
  modified timestamptz NOT NULL DEFAULT now(),
  UNIQUE (film_id, user_id)
);

CREATE TABLE IF NOT EXISTS ugc.reviews (
  id        uuid PRIMARY KEY,
  film_id   uuid NOT NULL,
  user_id   uuid NOT NULL,
  text      text NOT NULL,
  sentiment text CHECK (sentiment IN ('positive', 'neutral', 'negative')),
  created   timestamptz NOT NULL DEFAULT now(),
  modified  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS ugc.likes (
  id       uuid PRIMARY KEY,
  film_id  uuid NOT NULL,
  user_id  uuid NOT NULL,
  value    smallint NOT NULL CHECK (value IN (-1, 1)),
  created  timestamptz NOT NULL DEFAULT now(),
  modified timestamptz NOT NULL DEFAULT now(),
  UNIQUE (film_id, user_id)
);

-- progress_seconds is how far the user watched; finished is the player's own verdict, titles rolling.
CREATE TABLE IF NOT EXISTS ugc.views (
  id               uuid PRIMARY KEY,
  film_id          uuid NOT NULL,
  user_id          uuid NOT NULL,
  progress_seconds integer NOT NULL CHECK (progress_seconds >= 0),
  duration_seconds integer NOT NULL CHECK (duration_seconds > 0),
  finished         boolean NOT NULL DEFAULT false,
  started_at       timestamptz NOT NULL,
  created          timestamptz NOT NULL DEFAULT now(),
  modified         timestamptz NOT NULL DEFAULT now(),
  CHECK (progress_seconds <= duration_seconds)
);

-- What changed since: the question every incremental reader asks, ties broken by id.
CREATE INDEX IF NOT EXISTS film_work_modified_id_idx ON content.film_work (modified, id);
CREATE INDEX IF NOT EXISTS ratings_modified_id_idx   ON ugc.ratings (modified, id);
CREATE INDEX IF NOT EXISTS reviews_modified_id_idx   ON ugc.reviews (modified, id);
CREATE INDEX IF NOT EXISTS likes_modified_id_idx     ON ugc.likes (modified, id);
CREATE INDEX IF NOT EXISTS views_modified_id_idx     ON ugc.views (modified, id);

-- The far end of each reference; the near end is the first column of a unique key.
CREATE INDEX IF NOT EXISTS genre_film_work_genre_id_idx   ON content.genre_film_work (genre_id);
CREATE INDEX IF NOT EXISTS person_film_work_person_id_idx ON content.person_film_work (person_id);
CREATE INDEX IF NOT EXISTS ratings_user_id_idx            ON ugc.ratings (user_id);
CREATE INDEX IF NOT EXISTS reviews_film_id_idx            ON ugc.reviews (film_id);
CREATE INDEX IF NOT EXISTS reviews_user_id_idx            ON ugc.reviews (user_id);
CREATE INDEX IF NOT EXISTS likes_user_id_idx              ON ugc.likes (user_id);
CREATE INDEX IF NOT EXISTS views_film_id_idx              ON ugc.views (film_id);
CREATE INDEX IF NOT EXISTS views_user_id_idx              ON ugc.views (user_id);

-- An UPDATE moves `modified` by itself, unless the statement sets it: an import keeps its own times.
-- now() is when the transaction began, so a late commit carries an older `modified`: as in real services.
DO $$
DECLARE
  touched record;
BEGIN
  FOR touched IN
    SELECT c.table_schema AS service, c.table_name AS name
      FROM information_schema.columns c
      JOIN (VALUES ('content', 'film_work'), ('content', 'genre'), ('content', 'person'), ('auth', 'users'),
                   ('ugc', 'ratings'), ('ugc', 'reviews'), ('ugc', 'likes'), ('ugc', 'views'))
           AS cinema (table_schema, table_name) USING (table_schema, table_name)
     WHERE c.column_name = 'modified'
  LOOP
    -- Checked first, because replacing a trigger would wait for every reader of the table.
    CONTINUE WHEN EXISTS (
      SELECT FROM pg_trigger
       WHERE tgname = 'touch_modified' AND tgrelid = format('%I.%I', touched.service, touched.name)::regclass);
    EXECUTE format($f$
      CREATE OR REPLACE FUNCTION %I.touch_modified() RETURNS trigger LANGUAGE plpgsql AS $body$
      BEGIN
        IF NEW.modified = OLD.modified THEN
          NEW.modified := now();
        END IF;
        RETURN NEW;
      END $body$ $f$, touched.service);
    EXECUTE format('CREATE TRIGGER touch_modified BEFORE UPDATE ON %I.%I
                    FOR EACH ROW EXECUTE FUNCTION %1$I.touch_modified()', touched.service, touched.name);
  END LOOP;
END $$;
