-- way: a write to a table that nobody has resumed in the new epoch, under a token of it
-- PostgreSQL: knows no epochs
-- fencing: refused, LF007, until the table is installed, proved and resumed
-- area: tokens
-- without: blocked
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
SELECT fencing.begin_epoch_transition('restore');
SELECT fencing.open_epoch('restore') > 0;
SELECT take('new', 'a');
SELECT stale($$UPDATE doc SET body = 'stale'$$, 'new');
SELECT fencing.install_local('doc');
SELECT stale($$UPDATE doc SET body = 'stale'$$, 'new');
SELECT fencing.prove_epoch('doc');
SELECT stale($$UPDATE doc SET body = 'stale'$$, 'new');
SELECT fencing.resume('doc');
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT * FROM doc;
