-- way: a procedure that presents, commits, and goes on writing
-- PostgreSQL: gives back its locks at COMMIT and starts a new transaction
-- fencing: refused, LF002: a token is presented in each transaction
-- area: transactions
-- without: transaction
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE PROCEDURE twice() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM present('new');
    UPDATE doc SET body = 'rightful';
    COMMIT;
    UPDATE doc SET body = 'in the next transaction';
END
$$;
CALL guard('doc');
CALL takeover();
CALL twice();
\echo stale: :SQLSTATE
SELECT * FROM doc;
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
