-- since: 17
-- enforcement_gaps: event_triggers = off, which silences the DDL watch; listed wherever it stays.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
CREATE VIEW gaps AS
    SELECT relation, severity, gap, detail, replace(remedy, current_database(), '<database>') FROM fencing.enforcement_gaps();
SELECT * FROM gaps;
CREATE ROLE regress_gaps_emil;
SELECT format('ALTER DATABASE %I SET event_triggers = false', current_database()),
       format('ALTER ROLE regress_gaps_emil IN DATABASE %I SET event_triggers = of', current_database()) \gexec
ALTER ROLE regress_gaps_emil SET event_triggers = 0;
SELECT * FROM gaps;
SELECT remedy FROM fencing.enforcement_gaps() \gexec
SELECT * FROM gaps;
ALTER ROLE regress_gaps_emil SET event_triggers = on;
SELECT * FROM gaps;
-- A session's own.
SET event_triggers = off;
SELECT * FROM gaps;
RESET event_triggers;
DROP ROLE regress_gaps_emil;
