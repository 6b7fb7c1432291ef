-- Epochs: from one to the next, in one call or step by step; and which server the latest was opened on.

CREATE FUNCTION fencing.advance_epoch(reason text, carry_unresolved boolean DEFAULT false, force boolean DEFAULT false)
    RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_advance_epoch';
COMMENT ON FUNCTION fencing.advance_epoch(text, boolean, boolean) IS
    'Opens the next epoch, in one transaction, and gives its number: what a failover hook or a runbook calls after a restore, a promotion or a copy. Every older term is void. Waits for open writers and acquires, within fencing.max_wait (55P03 names them). carry_unresolved: although effects are unresolved (else LF010); force: although the clock has leapt by more than a year since the last epoch and its last grant (else 22008). Called again, it opens another one. Durable. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.begin_epoch_transition(reason text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_begin_epoch_transition';
COMMENT ON FUNCTION fencing.begin_epoch_transition(text) IS
    'Stops admitting: from its commit on nothing is acquired, and guarded writes are LF007, until the next epoch is open. Waits for open writers and acquires, within fencing.max_wait (55P03 names them); records the last state as an event. Repeated, it does nothing more. Durable. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.unresolved(
    OUT destination text, OUT intent text, OUT effect_id bigint, OUT status text, OUT since timestamptz, OUT detail jsonb)
    RETURNS SETOF record LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'fencing_unresolved';
COMMENT ON FUNCTION fencing.unresolved() IS
    'Effects whose outcome is not known, to be reconciled before the next epoch is opened. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.open_epoch(reason text, carry_unresolved boolean DEFAULT false, force boolean DEFAULT false)
    RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_open_epoch';
COMMENT ON FUNCTION fencing.open_epoch(text, boolean, boolean) IS
    'Opens the next epoch, once begin_epoch_transition has closed the last one (else 55000), and gives its number. Every older term is void. Leases are granted again; every guarded table stays blocked (LF007) until it is installed, proved and resumed. carry_unresolved: although effects are unresolved (else LF010); force: although the clock has leapt by more than a year since the last epoch and its last grant (else 22008). Durable. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.install_local(destination regclass)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_install_local';
COMMENT ON FUNCTION fencing.install_local(regclass) IS
    'The first step of three that unblock a guarded table after open_epoch: makes sure that every trigger of its guard is there and fires (else 55000), on its partitions and children as well. Waits for whoever has a step of the table open, within fencing.max_wait (55P03 names them). Where it is done already, or the table is not blocked, nothing happens. Durable. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.note_proof(destination regclass, proved boolean)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_note_proof';
COMMENT ON FUNCTION fencing.note_proof(regclass, boolean) IS
    'Internal: before the proof of fencing.prove_epoch (55000 out of order), and after it (55000 where the guard of one of the tables has not rejected the epoch before in this transaction). For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.prove_epoch(destination regclass)
    RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
DECLARE
    failed record;
BEGIN
    PERFORM fencing.note_proof(destination, false);
    SELECT pg_catalog.string_agg(pg_catalog.format('%I.%I: %s: %s', n.nspname, c.relname, p.verdict, p.detail), E'\n') AS tables,
           pg_catalog.bool_or(p.verdict OPERATOR(pg_catalog.=) 'accepted') AS passed,
           (SELECT pg_catalog.format('%I.%I', dn.nspname, d.relname)
              FROM pg_catalog.pg_class AS d JOIN pg_catalog.pg_namespace AS dn ON dn.oid OPERATOR(pg_catalog.=) d.relnamespace
             WHERE d.oid OPERATOR(pg_catalog.=) destination) AS name
      INTO failed
      FROM fencing.prove_tables(destination, true) AS p
      JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) p.relation
      JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
     WHERE p.verdict OPERATOR(pg_catalog.<>) 'rejected';
    IF failed.tables IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = pg_catalog.format('table %s is not proved', failed.name),
            DETAIL = failed.tables,
            HINT = 'A write under a token of the epoch before was to be rejected everywhere. ' OPERATOR(pg_catalog.||)
                CASE WHEN failed.passed THEN '' ELSE
                    'What is inconclusive has not got as far as the guard. One row in the table helps, which a superuser may put there although it is blocked, after SELECT fencing.maintain(''reason'') in the same transaction; so does SELECT fencing.advance_epoch(''reason''), which voids every older term and blocks no table. ' END
                OPERATOR(pg_catalog.||) 'SELECT * FROM fencing.enforcement_gaps() says what is open, and what mends it.';
    END IF;
    PERFORM fencing.note_proof(destination, true);
END
$$;
COMMENT ON FUNCTION fencing.prove_epoch(regclass) IS
    'The second step, after install_local (else 55000): fires a write under a token of the epoch before at the table and at each of its partitions and children, and rolls it back. Unless all of them are rejected (LF005) it fails (55000, with what became of each), and the table stays where it is. A partitioned table without a partition, to which nothing can be written, needs no proof. The table''s own triggers run along, as the caller. Durable. For superusers, and for members of fencing.epoch_authority that own the table';

CREATE FUNCTION fencing.resume(destination regclass)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_resume';
COMMENT ON FUNCTION fencing.resume(regclass) IS
    'The last step, after prove_epoch (else 55000, as where the guard is not whole any more): from its commit on the table is written to, under tokens of the new epoch. Where the table is not blocked, nothing happens. Durable. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.lineage(OUT recorded jsonb, OUT actual jsonb, OUT verdict text)
    RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_lineage';
COMMENT ON FUNCTION fencing.lineage() IS
    'One row: the server that the latest epoch was opened on, as recorded (null where there is none), the one that runs, and the verdict: same, or a list of system identifier, timeline, database, data directory, extension, wal position, unclean start, sequence behind the terms, sequence altered, history lost, transition under way, no epoch. Not on a standby';
