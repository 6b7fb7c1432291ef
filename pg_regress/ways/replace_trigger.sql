-- way: CREATE OR REPLACE TRIGGER of the guard's name, so that it fires for INSERT alone
-- PostgreSQL: allows it to the table's owner, with a function that the owner may execute
-- fencing: the stale write passes; a warning says so, enforcement_gaps() lists it, alter_guard(table) mends it
-- area: switched off
-- without: gaps
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT regexp_replace(pg_get_triggerdef(oid), 'CREATE TRIGGER (.*) INSERT OR DELETE OR UPDATE', 'CREATE OR REPLACE TRIGGER \1 INSERT') AS command
  FROM pg_trigger WHERE tgrelid = 'item'::regclass AND tgname = '~fencing' \gset
:command;
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT listed();
SELECT fencing.alter_guard('item');
SELECT listed();
SELECT stale($$UPDATE item SET body = 'stale again'$$);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
