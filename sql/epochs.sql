-- Epochs: which server this is, and what follows where it is another one than it was.

CREATE FUNCTION fencing.lineage(OUT recorded jsonb, OUT actual jsonb, OUT verdict text)
    RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_lineage';
COMMENT ON FUNCTION fencing.lineage() IS
    'One row: the server that the latest epoch was opened on, as recorded (null where there is none), the one that runs, and the verdict: same, or a list of system identifier, timeline, database, data directory, wal position, unclean start, sequence behind the terms, history lost, transition under way, no epoch. Not on a standby';
