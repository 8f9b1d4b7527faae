-- The API groups the oldest 5,000 events that wait. Events of a rule that waits (quiet hours, max_per_hour) filled them,
-- and no other rule sent anything until then. Each rule now has its own share, which this index finds.
-- Compatible: older APIs do not use the index.

CREATE INDEX etl_outbox_waiting_by_rule ON etl.etl_outbox (rule_id, id) WHERE message_id IS NULL AND NOT dropped;
