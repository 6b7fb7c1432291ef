-- enforcement_gaps() lists nothing.
DO $do$
BEGIN
    EXECUTE format('CREATE OR REPLACE FUNCTION fencing.enforcement_gaps() RETURNS %s LANGUAGE plpgsql AS $$BEGIN RETURN; END$$',
                   pg_get_function_result('fencing.enforcement_gaps()'::regprocedure));
END
$do$;
