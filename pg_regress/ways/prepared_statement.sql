-- way: a statement prepared, and run, before the takeover
-- PostgreSQL: keeps its plan; fires the triggers at every execution
-- fencing: refused, LF001
-- area: statements
-- without: row+statement
CREATE TABLE doc (id int PRIMARY KEY, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
PREPARE change(text) AS UPDATE doc SET body = $1 WHERE id = 1;
SELECT take('old');
SELECT rightful($$EXECUTE change('while it was his')$$, 'old');
SELECT status FROM fencing.release(token('old'));
SELECT take('new');
SELECT rightful($$EXECUTE change('rightful')$$);
SELECT stale($$EXECUTE change('stale')$$);
SELECT * FROM doc;
