-- way: dropping the namespace, with all that is known of its terms
-- PostgreSQL: knows nothing of it
-- fencing: refused, 2BP01, as long as a guard names it
-- area: tokens
-- without: namespace
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
SELECT take('a');
SELECT rightful($$UPDATE doc SET body = 'rightful'$$, 'a');
SELECT status FROM fencing.release(token('a'));
SELECT stale($$SELECT fencing.drop_namespace('jobs')$$, NULL);
SELECT stale($$UPDATE doc SET body = 'stale'$$, 'a');
SELECT * FROM doc;
