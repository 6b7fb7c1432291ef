-- Guards: the triggers of a protected table, and how a transaction presents its token.

CREATE TYPE fencing.fence_kind AS ENUM ('lease', 'destination');
COMMENT ON TYPE fencing.fence_kind IS 'Whose terms a guard compares: a lease of this database, or those of a coordinator elsewhere';
CREATE TYPE fencing.missing_rule AS ENUM ('reject', 'admit');
COMMENT ON TYPE fencing.missing_rule IS 'What becomes of a write that presents no token';
CREATE TYPE fencing.guard_mode AS ENUM ('enforce', 'observe');
COMMENT ON TYPE fencing.guard_mode IS 'Whether a violation is an error, or only a warning';
CREATE TYPE fencing.guard_level AS ENUM ('row', 'statement');
COMMENT ON TYPE fencing.guard_level IS 'Whether rows are checked as well as statements';

CREATE FUNCTION fencing.guard_row() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'fencing_guard_row';
COMMENT ON FUNCTION fencing.guard_row() IS
    'Trigger of guarded tables, for each row; its argument is the guard''s definition. Attached by fencing.protect';
CREATE FUNCTION fencing.guard_statement() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'fencing_guard_statement';
COMMENT ON FUNCTION fencing.guard_statement() IS
    'Trigger of guarded tables, before each statement: takes the fence before any row lock. Attached by fencing.protect';
CREATE FUNCTION fencing.guard_truncate() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'fencing_guard_truncate';
COMMENT ON FUNCTION fencing.guard_truncate() IS
    'Trigger of guarded tables, before TRUNCATE. Attached by fencing.protect';

CREATE FUNCTION fencing.protect(
    relation regclass, namespace text, key text DEFAULT NULL, key_columns name[] DEFAULT NULL,
    token_column name DEFAULT NULL, present_column name DEFAULT NULL,
    fence fencing.fence_kind DEFAULT 'lease', on_missing fencing.missing_rule DEFAULT 'reject',
    mode fencing.guard_mode DEFAULT 'enforce', level fencing.guard_level DEFAULT 'row', coordinator text DEFAULT NULL)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_protect';
COMMENT ON FUNCTION fencing.protect(regclass, text, text, name[], name, name, fencing.fence_kind, fencing.missing_rule, fencing.guard_mode, fencing.guard_level, text) IS
    'Guards a table: from now on the database rejects writes that don''t present the current token of the lease. Give key (one lease for the table) or key_columns (one lease per value). Needs the table''s ownership and administer on the namespace. With fence => ''destination'' the leases are those of a coordinator elsewhere, in its own namespace: then it needs the ownership and membership in fencing.epoch_authority';

CREATE FUNCTION fencing.alter_guard(
    relation regclass, namespace text DEFAULT NULL, key text DEFAULT NULL, key_columns name[] DEFAULT NULL,
    token_column name DEFAULT NULL, present_column name DEFAULT NULL,
    fence fencing.fence_kind DEFAULT NULL, on_missing fencing.missing_rule DEFAULT NULL,
    mode fencing.guard_mode DEFAULT NULL, level fencing.guard_level DEFAULT NULL, coordinator text DEFAULT NULL)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_alter_guard';
COMMENT ON FUNCTION fencing.alter_guard(regclass, text, text, name[], name, name, fencing.fence_kind, fencing.missing_rule, fencing.guard_mode, fencing.guard_level, text) IS
    'Changes a table''s guard in place, with no moment without one; null keeps, an empty column name takes the column out. With the table alone it puts right what is missing, disabled or changed, on partitions and children too. Waits for open writers (readers too where a trigger is to go: another key or level). Needs the table''s ownership and administer on the namespace';

CREATE FUNCTION fencing.unprotect(relation regclass)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_unprotect';
COMMENT ON FUNCTION fencing.unprotect(regclass) IS 'Removes a table''s guard. Needs the table''s ownership and administer on the namespace';

CREATE FUNCTION fencing.present(token bigint)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_present';
COMMENT ON FUNCTION fencing.present(bigint) IS
    'Presents a token for the rest of this transaction. Follows savepoints; outside a transaction block it warns that it does nothing. LF013 for a second token of one lease';

CREATE FUNCTION fencing.present_all(tokens bigint[])
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_present_all';
COMMENT ON FUNCTION fencing.present_all(bigint[]) IS
    'Presents tokens for the rest of this transaction, as so many calls of present: all of them, or none and LF013';

CREATE FUNCTION fencing.present(namespace text, key text, token bigint)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_present_for';
COMMENT ON FUNCTION fencing.present(text, text, bigint) IS
    'Presents a token for this very lease, as present(token) does. Issued for another lease, it counts for none: the write gets LF004. For guards of a coordinator elsewhere this is how a token says which lease it is of: a namespace that doesn''t exist here is no error. It is for the first that takes it, this database or one coordinator: to another that has a lease of that name it is LF013';

CREATE FUNCTION fencing.maintain(reason text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_maintain';
COMMENT ON FUNCTION fencing.maintain(text) IS
    'For superusers: the rest of this transaction writes past every guard, unchecked, also while the coordinator is closed. Recorded in fencing.event in the same transaction, with the reason. Follows savepoints; called by itself outside a transaction block it warns, does nothing and records nothing. Token columns are left as they were, inline columns stored as NULL; terms accepted before are still checked at commit';

CREATE FUNCTION fencing.assert_current(token bigint)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_assert_current';
COMMENT ON FUNCTION fencing.assert_current(bigint) IS
    'The guard without a trigger: holds the term''s fence until commit, or raises as a guard would';

CREATE FUNCTION fencing.key_of(VARIADIC "any")
    RETURNS text LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'fencing_key_of';
COMMENT ON FUNCTION fencing.key_of(VARIADIC "any") IS
    'The lease key that a guard with key_columns makes of these values: one value''s text, or ROW(...)::text of several. NULL is refused (23502)';

CREATE FUNCTION fencing.guard_definition(
    arguments bytea,
    OUT namespace text, OUT key text, OUT key_columns text[], OUT token_column text, OUT present_column text,
    OUT fence text, OUT on_missing text, OUT mode text, OUT level text, OUT coordinator text)
    RETURNS record LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'fencing_guard_definition';
CREATE FUNCTION fencing.guard_definition(
    settings text[],
    OUT namespace text, OUT key text, OUT key_columns text[], OUT token_column text, OUT present_column text,
    OUT fence text, OUT on_missing text, OUT mode text, OUT level text, OUT coordinator text)
    RETURNS record LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'fencing_guard_definition_of_array';
COMMENT ON FUNCTION fencing.guard_definition(text[]) IS 'Reads a guard''s definition as it is recorded (fencing.guarded.definition)';
COMMENT ON FUNCTION fencing.guard_definition(bytea) IS 'Reads a guard''s definition from its trigger''s argument (pg_trigger.tgargs)';

CREATE VIEW fencing.guards AS
SELECT DISTINCT ON (t.tgrelid) t.tgrelid::pg_catalog.regclass AS relation, d.*
  FROM (VALUES (1, 'fencing.guard_row'::pg_catalog.regproc), (2, 'fencing.guard_statement'::pg_catalog.regproc),
               (3, 'fencing.guard_truncate'::pg_catalog.regproc)) AS f (rank, function)
  JOIN pg_catalog.pg_trigger AS t ON t.tgfoid OPERATOR(pg_catalog.=) f.function
 CROSS JOIN LATERAL fencing.guard_definition(t.tgargs) AS d
 ORDER BY t.tgrelid, d.namespace IS NULL, f.rank, t.tgname;
COMMENT ON VIEW fencing.guards IS 'Every guarded table with its guard''s definition, as its triggers say it';
COMMENT ON COLUMN fencing.guards.relation IS 'The guarded table';
COMMENT ON COLUMN fencing.guards.namespace IS 'Namespace of its lease or leases';
COMMENT ON COLUMN fencing.guards.key IS 'Key of its lease, for a guard with one lease for the table';
COMMENT ON COLUMN fencing.guards.key_columns IS 'Columns whose values are the key, for a guard with one lease per value';
COMMENT ON COLUMN fencing.guards.token_column IS 'Column that is stamped with the accepted token';
COMMENT ON COLUMN fencing.guards.present_column IS 'Column that presents a token inline and is always stored as NULL';
COMMENT ON COLUMN fencing.guards.fence IS 'lease or destination';
COMMENT ON COLUMN fencing.guards.on_missing IS 'reject or admit';
COMMENT ON COLUMN fencing.guards.mode IS 'enforce or observe';
COMMENT ON COLUMN fencing.guards.level IS 'row or statement';
COMMENT ON COLUMN fencing.guards.coordinator IS 'Whose namespace it is, for a destination';
