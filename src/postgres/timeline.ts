/**
 * SQL for the timeline that the server writes. Not pg_control_checkpoint(): after a promotion it reports the old one
 * until the next checkpoint ends, and changes of another history would be taken for the old one. The name of a WAL file
 * begins with it. A standby writes no WAL, and its functions refuse; the timeline it replays is that of its restart point.
 */
export const TIMELINE = `(CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END)`
