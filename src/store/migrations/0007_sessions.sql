-- A browser signs in with a token and gets a cookie in its place. The session remembers the hash of that token, so that
-- a token that is revoked, and an administrator's token that is exchanged, end their sessions at once.
-- A code is a session not yet begun: it can be exchanged for one, once.
-- Compatible: runners know nothing of it.

CREATE TABLE etl.etl_sessions (
  hash       bytea PRIMARY KEY,
  token_hash bytea NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('session', 'code')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  used_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX etl_sessions_expired ON etl.etl_sessions (expires_at);
