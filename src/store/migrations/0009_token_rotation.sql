-- A token can be rotated: it gets a new value and keeps its id, its name and its history. The old value may be let live
-- for a while, until everybody who holds it was given the new one; its hash stays, so that whoever still sends it is told
-- what happened. Whoever revokes a token wants to know where it was last used from.
-- The audit is looked through by request and by what was changed.
-- Compatible: runners know nothing of tokens. An older API takes only the new value of a rotated token.

ALTER TABLE etl.etl_tokens
  ADD COLUMN last_used_from text,
  ADD COLUMN rotated_at     timestamptz,
  ADD COLUMN previous_hash  bytea UNIQUE,
  ADD COLUMN previous_until timestamptz;

CREATE INDEX etl_audit_by_request ON etl.etl_audit (request_id);
CREATE INDEX etl_audit_by_target ON etl.etl_audit (target_id, id);
