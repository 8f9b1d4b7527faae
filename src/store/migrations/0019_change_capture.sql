-- Change capture from the write-ahead log: one replication slot and one change log for each source database, shared by
-- all pipelines that read it. A runner holds a head by a lease, streams the slot, and writes entries and `upto` in one
-- transaction, under the fence. Only then does it acknowledge to the source. Until a pipeline registers a position,
-- no head exists and nothing is captured.
-- Compatible: older runners ignore these tables.

-- What every captured commit changes comes last: PostgreSQL then logs only that part of the row.
CREATE TABLE etl.etl_change_heads (
  id             integer GENERATED ALWAYS AS IDENTITY CONSTRAINT etl_change_heads_pkey PRIMARY KEY,
  connection     text NOT NULL CONSTRAINT etl_change_heads_connection_key UNIQUE,
  slot           text NOT NULL CONSTRAINT etl_change_heads_slot_key UNIQUE,
  publication    text NOT NULL,
  generation     bigint NOT NULL DEFAULT 0,
  trimmed        pg_lsn NOT NULL DEFAULT '0/0',
  system         text,
  timeline       integer,
  start_snapshot text,
  published      jsonb NOT NULL DEFAULT '{}',
  has_slot       boolean NOT NULL DEFAULT false,
  owner          text,
  leased_until   timestamptz,
  fence          bigint NOT NULL DEFAULT 0,
  way            text CONSTRAINT etl_change_heads_way_check CHECK (way IN ('stream', 'peek')),
  lost           text,
  lost_at        timestamptz,
  error          text,
  error_code     text,
  error_since    timestamptz,
  held_bytes     bigint,
  lag_bytes      bigint,
  upto           pg_lsn NOT NULL DEFAULT '0/0',
  last           pg_lsn NOT NULL DEFAULT '0/0',
  last_xid       xid8,
  last_stamp     bigint,
  updated_at     timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
COMMENT ON TABLE etl.etl_change_heads IS 'How far the change log of each source database is, and which runner writes it.';
COMMENT ON COLUMN etl.etl_change_heads.connection IS 'main, or the name of a connection.';
COMMENT ON COLUMN etl.etl_change_heads.generation IS 'Changes with every new slot: positions of another generation mean nothing. Milliseconds since 1970, so that a restored meta store never repeats one. 0: no slot yet.';
COMMENT ON COLUMN etl.etl_change_heads.upto IS 'Every commit whose record ends at or before this WAL position is in the log.';
COMMENT ON COLUMN etl.etl_change_heads.last IS 'End of the newest commit in the log; last_xid is its transaction, last_stamp its time in microseconds since 2000. A source that decodes it differently has another history.';
COMMENT ON COLUMN etl.etl_change_heads.trimmed IS 'Entries at or before this position were removed. A pipeline whose position is lower has to read everything.';
COMMENT ON COLUMN etl.etl_change_heads.start_snapshot IS 'What the slot does not report must be visible to the first read. NULL: there is no usable log.';
COMMENT ON COLUMN etl.etl_change_heads.published IS 'For each membership of a table in the publication: the transaction number from which on no open transaction can have changed the table without being published.';
COMMENT ON COLUMN etl.etl_change_heads.has_slot IS 'A slot exists on the source, or is about to be created.';
COMMENT ON COLUMN etl.etl_change_heads.lost IS 'Why the previous slot could not be used.';
COMMENT ON COLUMN etl.etl_change_heads.held_bytes IS 'WAL that the slot keeps on the source, as last seen; lag_bytes is the part that was not captured yet.';

CREATE TABLE etl.etl_changes (
  end_lsn  pg_lsn NOT NULL,
  xid      xid8 NOT NULL,
  head     integer NOT NULL,
  seq      integer NOT NULL,
  op       "char" NOT NULL CONSTRAINT etl_changes_op_check CHECK (op IN ('I', 'U', 'D', 'T')),
  relation text NOT NULL,
  old      jsonb,
  new      jsonb,
  CONSTRAINT etl_changes_pkey PRIMARY KEY (head, end_lsn, seq)
);
-- No foreign key to the head: the statement that inserts entries updates the head's row, and 100,000 checks would
-- prove the same again.
COMMENT ON TABLE etl.etl_changes IS 'Changed rows of the published tables of each source database, in commit order.';
COMMENT ON COLUMN etl.etl_changes.end_lsn IS 'END of the commit record in the WAL of the source; seq orders the changes of one commit.';
COMMENT ON COLUMN etl.etl_changes.xid IS 'The transaction on the source, with its epoch.';
COMMENT ON COLUMN etl.etl_changes.op IS 'I inserted, U updated, D deleted, T truncated or changed in too many rows to list.';
COMMENT ON COLUMN etl.etl_changes.old IS 'Columns of the row before the change, as text. A column that is absent is unknown, not NULL. new is the row after it.';

CREATE TABLE etl.etl_change_positions (
  head        integer NOT NULL CONSTRAINT etl_change_positions_head_fkey REFERENCES etl.etl_change_heads (id) ON DELETE CASCADE,
  pipeline_id uuid NOT NULL CONSTRAINT etl_change_positions_pipeline_id_fkey REFERENCES etl.etl_pipelines (id) ON DELETE CASCADE,
  generation  bigint NOT NULL DEFAULT 0,
  end_lsn     pg_lsn NOT NULL DEFAULT '0/0',
  relations   jsonb NOT NULL DEFAULT '{}',
  updated_at  timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT etl_change_positions_pkey PRIMARY KEY (head, pipeline_id)
);
CREATE INDEX etl_change_positions_by_pipeline ON etl.etl_change_positions (pipeline_id);
COMMENT ON TABLE etl.etl_change_positions IS 'Which pipelines read a change log, and a copy of how far each is: the log is trimmed below the slowest. Their own position is in the target, in the transaction of the rows. Registered before the first read.';
COMMENT ON COLUMN etl.etl_change_positions.relations IS 'The tables of the pipeline with the columns that the log must contain: {"content.film_work": ["id"]}.';
