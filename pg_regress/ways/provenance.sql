-- way: forging the token column, which says under whose term a row was written
-- PostgreSQL: stores what is assigned to a column
-- fencing: what a statement assigns is ignored: the accepted token is stored
-- area: tokens
-- without: stamp
CREATE TABLE doc (id int, body text, written bigint);
CALL guard('doc', token_column => 'written');
CALL takeover();
SELECT rightful($$INSERT INTO doc VALUES (1, 'rightful', {other})$$);
SELECT rightful($$UPDATE doc SET written = {other}$$);
SELECT 'stale: ' || CASE name_of(written) WHEN 'new' THEN 'ignored' ELSE '00000' END FROM doc;
