-- The cookie was the whole session. Browsers send it to every port of a host, so a server on another port could use
-- it; and a session that was started by a code outlived the sign-out of the session that made the code.
-- key_hash: the second secret, which the page sends in a header. family: the first session of those that were started
-- from one another; deleting its row ends them all.
-- Sessions and codes from before have no key, so their users sign in again.
-- Compatible: runners know nothing of it. An older API keeps its users signed in; a newer one refuses those sessions.

DELETE FROM etl.etl_sessions;

ALTER TABLE etl.etl_sessions
  ADD COLUMN id          uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT etl_sessions_id_key UNIQUE,
  ADD COLUMN key_hash    bytea,
  ADD COLUMN parent      uuid CONSTRAINT etl_sessions_parent_fkey REFERENCES etl.etl_sessions (id) ON DELETE CASCADE,
  ADD COLUMN family      uuid,
  ADD COLUMN opened_from text,
  ADD COLUMN user_agent  text;
CREATE INDEX etl_sessions_by_parent ON etl.etl_sessions (parent);
