-- What tests of changed lineages share. No test of its own.

-- Changes the latest epoch as no function of the extension does.
CREATE FUNCTION tamper(change text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    ALTER TABLE fencing.epoch DISABLE TRIGGER refuse_direct_write;
    EXECUTE 'UPDATE fencing.epoch SET ' || change || ' WHERE epoch = (SELECT max(epoch) FROM fencing.epoch)';
    ALTER TABLE fencing.epoch ENABLE ALWAYS TRIGGER refuse_direct_write;
    RETURN change;
END
$$;

-- Puts N for what is different on each machine.
CREATE FUNCTION anywhere(message text) RETURNS text LANGUAGE sql
    AS $$ SELECT regexp_replace(regexp_replace($1, '[0-9A-F]+/[0-9A-F]{6,}', 'N', 'g'), '\d{4,}(:\d+)?', 'N', 'g') $$;
