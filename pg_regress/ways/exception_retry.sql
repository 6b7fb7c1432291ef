-- way: PL/pgSQL that swallows the error and tries again
-- PostgreSQL: rolls the inner block back, and goes on
-- fencing: refused, LF001, each time
-- area: transactions
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE FUNCTION stubborn(body text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1..3 LOOP
        BEGIN
            UPDATE doc SET body = stubborn.body;
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
    UPDATE doc SET body = stubborn.body;
END
$$;
ALTER FUNCTION stubborn SET plpgsql.variable_conflict = use_column;
CALL guard('doc');
CALL takeover();
SELECT rightful($$SELECT stubborn('rightful')$$);
SELECT stale($$SELECT stubborn('stale')$$);
SELECT * FROM doc;
