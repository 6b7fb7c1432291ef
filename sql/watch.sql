-- The DDL watch: event triggers that keep guards whole while people change tables. They never raise
-- an error: a statement must not fail because of what looks after guards, not even where the library
-- is missing or doesn't match.

CREATE FUNCTION fencing.keep_guard(relation oid)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_keep_guard';
COMMENT ON FUNCTION fencing.keep_guard(oid) IS
    'Completes a guard on partitions and children that have joined its table, and records it in fencing.guarded. With the caller''s own rights';

CREATE FUNCTION fencing.watch_command(command pg_ddl_command)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_watch_command';
COMMENT ON FUNCTION fencing.watch_command(pg_ddl_command) IS 'What the DDL watch does about one command';

CREATE FUNCTION fencing.should_be_guarded(schema text, name text)
    RETURNS boolean LANGUAGE c STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_should_be_guarded';
COMMENT ON FUNCTION fencing.should_be_guarded(text, text) IS 'Whether fencing.guarded has a table of that name, or a table below a guarded one lacks something of its guard';

CREATE FUNCTION fencing.watch_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
    c record;
BEGIN
    FOR c IN SELECT d.command FROM pg_catalog.pg_event_trigger_ddl_commands() AS d WHERE NOT d.in_extension LOOP
        BEGIN
            PERFORM fencing.watch_command(c.command);
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING USING
                MESSAGE = 'fencing could not look after the guards of tables',
                DETAIL = SQLERRM,
                HINT = 'SELECT * FROM fencing.enforcement_gaps() lists what is open, and what mends it.';
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fencing.watch_ddl() IS
    'Event trigger: completes the guards of new partitions and children, follows renamed columns, warns where a statement weakens a guard';

CREATE FUNCTION fencing.watch_drop() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
    dropped record;
BEGIN
    FOR dropped IN
        SELECT d.address_names AS names
          FROM pg_catalog.pg_event_trigger_dropped_objects() AS d
          JOIN pg_catalog.pg_namespace AS n ON n.nspname OPERATOR(pg_catalog.=) d.address_names[1]::pg_catalog.name
          JOIN pg_catalog.pg_class AS t
            ON t.relnamespace OPERATOR(pg_catalog.=) n.oid AND t.relname OPERATOR(pg_catalog.=) d.address_names[2]::pg_catalog.name
         WHERE d.object_type OPERATOR(pg_catalog.=) 'trigger' AND d.address_names[3] OPERATOR(pg_catalog.~~) '~fencing%'
    LOOP
        BEGIN
            IF fencing.should_be_guarded(dropped.names[1], dropped.names[2]) THEN
                RAISE WARNING USING
                    MESSAGE = pg_catalog.format('guard of table %I.%I is weakened: its trigger "%s" was dropped',
                                                dropped.names[1], dropped.names[2], dropped.names[3]),
                    HINT = 'SELECT * FROM fencing.enforcement_gaps() says what mends it; fencing.unprotect(table) ends the guard.';
            END IF;
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
EXCEPTION WHEN OTHERS THEN
    NULL;
END
$$;
COMMENT ON FUNCTION fencing.watch_drop() IS 'Event trigger: warns where a guard loses a trigger';

CREATE EVENT TRIGGER fencing_watch_ddl ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA', 'ALTER TABLE', 'ALTER FOREIGN TABLE', 'ALTER SCHEMA',
                 'CREATE TRIGGER', 'ALTER TRIGGER', 'CREATE RULE')
    EXECUTE FUNCTION fencing.watch_ddl();
ALTER EVENT TRIGGER fencing_watch_ddl ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER fencing_watch_ddl IS 'Keeps the guards of tables whole';

CREATE EVENT TRIGGER fencing_watch_drop ON sql_drop
    WHEN TAG IN ('DROP TRIGGER', 'ALTER TABLE', 'DROP FUNCTION', 'DROP OWNED', 'DROP EXTENSION')
    EXECUTE FUNCTION fencing.watch_drop();
ALTER EVENT TRIGGER fencing_watch_drop ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER fencing_watch_drop IS 'Warns where a guard loses a trigger';
