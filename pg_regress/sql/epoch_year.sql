-- An epoch that is years old: as long as it has granted something within a year, the clock is believed.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all
INSERT INTO fencing.epoch SELECT 100, gen_random_uuid(), '2025-01-01', 'restored', current_user::regrole, (l.actual ->> 'system_identifier')::bigint, (l.actual ->> 'timeline')::bigint,
    (l.actual ->> 'database')::oid, l.actual ->> 'fingerprint', (l.actual ->> 'lsn')::pg_lsn, 'open', 0 FROM fencing.lineage() AS l;
CREATE FUNCTION granted(seq int, at timestamptz) RETURNS void BEGIN ATOMIC
    INSERT INTO fencing.term (token, namespace, key, epoch, seq, holder, role, acquired_at, last_renewed_at, expires_at)
    VALUES (fencing.make_token(100, seq), 1, 'a', 100, seq, 'x', current_user::regrole, at, at, at);
END;
SELECT granted(1, now() - interval '400 days');
\c
SET client_min_messages = warning;
SELECT regexp_replace(try($$SELECT fencing.advance_epoch('x')$$, true), '\d{7,}', '<n>', 'g');
SELECT granted(2, now() - interval '300 days');
SELECT fencing.advance_epoch('x') > 500000;
