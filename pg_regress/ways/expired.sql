-- way: a write after the lease has expired, before anybody has taken over
-- PostgreSQL: knows nothing of leases
-- fencing: refused, LF003 (unless the namespace says accept_until_superseded)
-- area: transactions
-- without: expiry+recheck
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SET fencing.test_clock_offset = 3600000;
SELECT stale($$UPDATE doc SET body = 'stale'$$, 'new');
SELECT * FROM doc;
