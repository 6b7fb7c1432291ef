-- The table. A line shows a median, in brackets the quartiles, and how many measurements count. Reads
-- bench.judged and bench.call.

CREATE TEMP TABLE label (section text, variant text, line int, text text);
-- A rate has a base, of the same round, and may have a target: the least that it must be of that.
CREATE TEMP TABLE rate_label (section text, variant text, base text, at_least float8, line int, text text);
INSERT INTO rate_label VALUES
    ('rate', 'unguarded', 'unguarded', NULL, 1, 'unguarded'),
    ('rate', 'empty', 'unguarded', NULL, 2, 'empty C trigger'),
    ('rate', 'inline', 'unguarded', 0.93, 3, 'guard, key_columns, inline token'),
    ('rate', 'unguarded_each', 'unguarded_each', NULL, 4, 'unguarded, a table for each client'),
    ('rate', 'inline_each', 'unguarded_each', 0.93, 5, 'guard, one key, inline token, a table for each client'),
    ('rate', 'by_hand', 'unguarded', NULL, 6, 'PL/pgSQL fence, FOR SHARE'),
    ('block', 'present', 'unguarded', NULL, 7, 'guard, BEGIN; present(); UPDATE; COMMIT'),
    ('block', 'application', 'unguarded', NULL, 8, 'application: BEGIN; SELECT .. FOR SHARE; UPDATE; COMMIT'),
    ('lease', 'floor', 'by_hand', NULL, 1, 'two UPDATEs of one row each'),
    ('lease', 'by_hand', 'by_hand', NULL, 2, 'by hand'),
    ('lease', 'fencing', 'by_hand', 0.85, 3, 'acquire, release'),
    ('lease', 'fencing_off', 'by_hand', 1.2, 4, 'acquire (durable), release with synchronous_commit = off'),
    ('lease', 'by_hand_off', 'by_hand', NULL, 5, 'by hand, synchronous_commit = off: loses leases'),
    ('lease', 'fencing_off', 'by_hand_off', NULL, 6, 'line 4 over line 5'),
    ('renew', 'renew_by_hand', 'renew_by_hand', NULL, 1, 'UPDATE by hand'),
    ('renew', 'renew', 'renew_by_hand', 0.9, 2, 'renew'),
    ('peers_acquire', 'by_hand', 'by_hand', NULL, 1, 'by hand'),
    ('peers_acquire', 'fencing', 'by_hand', NULL, 2, 'acquire, release'),
    ('peers_acquire', 'etcd', 'by_hand', NULL, 3, 'etcd: grant, put if absent, revoke'),
    ('peers_acquire', 'etcd_session', 'by_hand', NULL, 4, 'etcd, a lease for each client: put if absent, delete'),
    ('peers_acquire', 'redis', 'by_hand', NULL, 5, 'Redis: SET NX PX, compare and delete'),
    ('peers_renew', 'by_hand', 'by_hand', NULL, 1, 'UPDATE by hand'),
    ('peers_renew', 'fencing', 'by_hand', NULL, 2, 'renew'),
    ('peers_renew', 'etcd', 'by_hand', NULL, 3, 'etcd: keep-alive, which it writes nowhere'),
    ('peers_renew', 'redis', 'by_hand', NULL, 4, 'Redis: compare and PEXPIRE'),
    ('batch', 'renew_one', 'renew_one', NULL, 1, 'renew, one by one'),
    ('batch', 'renew_all', 'renew_one', 20, 2, 'renew_all'),
    ('batch', 'renew_all_by_hand', 'renew_one', NULL, 3, 'UPDATE by hand');
INSERT INTO rate_label
SELECT 'clients', format('inline %s', n), format('unguarded %s', n), NULL, n,
       format('%s client%s, guard, key_columns, inline token', n, CASE WHEN n > 1 THEN 's' ELSE '' END)
  FROM unnest('{1,4,8,16,32}'::int[]) AS n;
INSERT INTO label VALUES
    ('bulk', 'unguarded', 1, 'unguarded'),
    ('bulk', 'empty', 2, 'empty C trigger'),
    ('bulk', 'statement', 3, 'guard, level => statement'),
    ('bulk', 'row', 4, 'guard, one key for the table'),
    ('bulk', 'one_key', 5, 'guard, key_columns, one key'),
    ('bulk', 'many_keys', 6, 'guard, key_columns, 1000 keys in turn'),
    ('bulk', 'inline', 7, 'guard, one key, inline token'),
    ('bulk', 'token_column', 8, 'guard, one key, token_column stamped'),
    ('bulk', 'by_hand', 9, 'PL/pgSQL fence, FOR SHARE per row'),
    ('keys', 'guard present', 1, 'present_all'),
    ('keys', 'unguarded update', 2, 'UPDATE, unguarded'),
    ('keys', 'empty update', 3, 'UPDATE, empty C trigger'),
    ('keys', 'guard update', 4, 'UPDATE, guard'),
    ('keys', 'unguarded commit', 5, 'COMMIT, unguarded'),
    ('keys', 'guard commit', 6, 'COMMIT, guard: every term once more'),
    ('call', 'acquire', 1, 'acquire'),
    ('call', 'renew', 2, 'renew'),
    ('call', 'release', 3, 'release'),
    ('growth', 'acquire', 1, 'acquire'),
    ('growth', 'renew', 2, 'renew'),
    ('growth', 'release', 3, 'release'),
    ('growth', 'unguarded', 4, 'UPDATE of one row'),
    ('growth', 'guarded', 5, 'UPDATE, guard, key_columns, inline token'),
    ('wal', 'unguarded', 1, 'UPDATE of one row'),
    ('wal', 'inline', 2, 'UPDATE, guard, key_columns, inline token'),
    ('wal', 'by_hand', 3, 'UPDATE, PL/pgSQL fence, FOR SHARE'),
    ('wal', 'application', 4, 'application: BEGIN; SELECT .. FOR SHARE; UPDATE; COMMIT'),
    ('wal', 'by_hand acquire', 5, 'acquiring by hand'),
    ('wal', 'fencing acquire', 6, 'acquire'),
    ('wal', 'by_hand renew', 7, 'renewing by hand'),
    ('wal', 'fencing renew', 8, 'renew'),
    ('wal', 'by_hand release', 9, 'releasing by hand'),
    ('wal', 'fencing release', 10, 'release'),
    ('storm', 'one', 1, 'renew, 16 clients'),
    ('storm', 'all', 2, 'renew_all, 10 clients with 1,000 each');

-- Targets: the most (or least) that a line's ratio or nanoseconds may be.
CREATE TEMP TABLE target (section text, variant text, at_most_empty float8, at_most_ns float8, at_least_by_hand float8);
INSERT INTO target VALUES
    ('insert', 'row', 2.0, NULL, 4.0),
    ('insert', 'one_key', 2.0, NULL, 4.0),
    ('insert', 'many_keys', NULL, NULL, 4.0),
    ('insert', 'inline', NULL, NULL, 4.0),
    ('insert', 'token_column', NULL, NULL, 4.0),
    ('insert', 'statement', NULL, 40, 4.0),
    ('update', 'row', 1.35, NULL, 4.0),
    ('update', 'one_key', 1.35, NULL, 4.0),
    ('update', 'many_keys', NULL, NULL, 4.0),
    ('update', 'inline', NULL, NULL, 4.0),
    ('update', 'token_column', NULL, NULL, 4.0),
    ('update', 'statement', NULL, 40, 4.0),
    ('insert_parted', 'row', 2.0, NULL, NULL),
    ('update_parted', 'row', 1.35, NULL, NULL);

-- Only what was measured at full pace counts; where that is less than three, all of it, with a mark.
CREATE TEMP VIEW counted AS
SELECT * FROM (SELECT *, count(*) FILTER (WHERE NOT slow) OVER (PARTITION BY part, variant) AS good FROM bench.judged) AS j
 WHERE NOT slow OR good < 3;
CREATE TEMP VIEW median AS
SELECT part, variant, count(*) || CASE WHEN bool_or(slow) THEN '~' ELSE '' END AS n,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS value,
       percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY value) AS quartile
  FROM counted GROUP BY part, variant;

-- The unguarded statement's own cost; of all others what they cost beyond it.
CREATE TEMP VIEW bulk AS
SELECT v.part, v.variant, v.n, v.value - b.less AS ns, v.quartile[1] - b.less AS low, v.quartile[3] - b.less AS high
  FROM median AS v JOIN median AS base ON base.part = v.part AND base.variant = 'unguarded',
       LATERAL (SELECT CASE WHEN v.variant = 'unguarded' THEN 0 ELSE base.value END AS less) AS b
 WHERE v.part IN ('insert', 'update', 'insert_parted', 'update_parted');

-- Rates are compared within a round, whose runs follow each other within seconds; of the rounds the
-- half counts in which the slower of the two runs was made at the better pace. What was measured in turns
-- has no pace, and all of it counts.
CREATE TEMP VIEW rate AS
WITH pair AS (
    SELECT l.section, l.variant, l.base, l.at_least, l.line, l.text, v.value AS tps, base.value AS base_tps, v.value / base.value AS ratio, v.slow OR base.slow AS slow,
           row_number() OVER (PARTITION BY l.section, l.line ORDER BY greatest(v.pace, base.pace)) AS place,
           count(*) OVER (PARTITION BY l.section, l.line) AS n
      FROM rate_label AS l
      JOIN bench.judged AS v ON v.part = l.section AND v.variant = l.variant
      JOIN bench.judged AS base ON base.part = v.part AND base.round = v.round AND base.variant = l.base)
SELECT section, variant, base, at_least, line, text, count(*) || CASE WHEN bool_and(slow) THEN '~' ELSE '' END AS n,
       percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY tps) AS tps,
       percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY base_tps) AS base_tps,
       percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY ratio) AS quartile
  FROM pair WHERE place <= (n + 1) / 2 OR slow IS NULL GROUP BY section, variant, base, at_least, line, text;

-- A call's time over that of the same call on another side, in the same round.
CREATE TEMP VIEW call AS
SELECT v.call, count(*) AS n,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY v.us) AS us,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY base.us) AS base_us,
       percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY v.us / base.us) AS quartile
  FROM bench.call AS v
  JOIN bench.call AS base ON base.call = v.call AND base.round = v.round AND base.side = 'by_hand'
 WHERE v.side = 'fencing'
 GROUP BY v.call;

-- So among leases of another number than a thousand. A guarded write's over the unguarded one's among as many.
CREATE TEMP VIEW growth AS
SELECT v.call, v.side::bigint AS leases, count(*) AS n,
       percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY v.us) AS us,
       percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY v.us / base.us) AS quartile
  FROM bench.call AS v
  JOIN bench.call AS base ON base.round = v.round
   AND CASE WHEN v.call = 'guarded' THEN base.call = 'unguarded' AND base.side = v.side ELSE base.call = v.call AND base.side = '1000' END
 WHERE v.side ~ '^[0-9]'
 GROUP BY v.call, v.side;

-- What a transaction costs that is counted and not timed.
CREATE TEMP VIEW wal AS
SELECT l.line, l.text, w.value AS bytes, w.value / base.value AS ratio, m.value AS multixacts
  FROM median AS w
  JOIN label AS l ON l.section = 'wal' AND l.variant = w.variant
  JOIN median AS base ON base.part = 'wal'
   AND base.variant = CASE WHEN w.variant ~ '^(fencing|by_hand) ' THEN replace(w.variant, 'fencing', 'by_hand') ELSE 'unguarded' END
  JOIN median AS m ON m.part = 'multixacts' AND m.variant = w.variant
 WHERE w.part = 'wal';

CREATE FUNCTION pg_temp.verdict(met boolean, target text) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN met IS NULL THEN '' ELSE target || CASE WHEN met THEN '  ok' ELSE '  MISS' END END $$;

CREATE FUNCTION pg_temp.line(text, text, text, text, text, text, text, text) RETURNS text LANGUAGE sql AS
$$ SELECT rtrim(rpad($1, 57) || lpad($2, 8) || '  ' || rpad($3, 16) || lpad($4, 7) || '  ' || lpad($5, 7) || '  ' || rpad($6, 15)
                || lpad($7, 9) || '  ' || $8) $$;

CREATE TEMP VIEW lines AS
SELECT p.part, 0 AS line, pg_temp.line(p.title, p.column_1, '[quartiles]', 'n', p.column_2, p.target, p.column_3, p.target_3) AS text
  FROM (VALUES (1, 'INSERT ... SELECT of ' || :'rows' || ' rows', 'ns a row', 'x empty', 'target', 'by hand', 'target'),
               (2, 'UPDATE of ' || :'rows' || ' rows', 'ns a row', 'x empty', 'target', 'by hand', 'target'),
               (3, 'INSERT of ' || :'rows' || ' rows into 64 partitions', 'ns a row', 'x empty', 'target', '', ''),
               (4, 'UPDATE of ' || :'rows' || ' rows in 64 partitions', 'ns a row', 'x empty', 'target', '', ''),
               (5, '1000 leases in one transaction, a row each', 'ns a key', '', '', '', ''),
               (6, 'UPDATE of one row, 8 clients, prepared, durable', 'tps', 'x', 'target', '', ''),
               (7, 'The same by 1 client to 32: guarded over unguarded', 'tps', 'x', '', '', ''),
               (8, 'One call, 1 client, prepared, durable', 'us', 'x', '', '', ''),
               (9, 'Acquire and release, 16 clients, 1,000 leases, prepared', 'a second', 'x', 'target', '', ''),
               (10, 'Renew, 16 clients, 1,000 leases, prepared, durable', 'a second', 'x', 'target', '', ''),
               (11, 'Acquire and release, 16 clients of one program, durable', 'a second', 'x', '', '', ''),
               (12, 'Renew, 16 clients of one program, durable', 'a second', 'x', '', '', ''),
               (13, 'Renewals of 1,000 leases by 1 client, prepared, durable', 'a second', 'x', 'target', '', ''),
               (14, 'Renewal storm on 10,000 leases', 'HOT %', 'a s', 'target', '', ''),
               (15, 'Hand-over of a released lease, 50 waiters', 'ms', '', 'target', '', ''),
               (16, 'Takeover of an expired lease, 1 waiter', 'ms', '', '', '', ''),
               (17, 'One call, 1 client, durable, of so many leases', 'us', 'x', 'target', '', ''),
               (18, 'Log written by one transaction', 'bytes', 'x', '', 'multixact', ''))
       AS p (part, title, column_1, column_2, target, column_3, target_3)
UNION ALL
SELECT array_position(ARRAY['insert', 'update', 'insert_parted', 'update_parted'], b.part), l.line,
       pg_temp.line(l.text, to_char(b.ns, CASE WHEN b.variant = 'unguarded' THEN 'FM999990' ELSE 'FMS999990' END),
           format('[%s .. %s]', round(b.low), round(b.high)), b.n,
           CASE WHEN b.variant <> 'unguarded' THEN to_char(b.ns / e.ns, 'FM9990.00') ELSE '' END,
           coalesce(nullif(pg_temp.verdict(b.ns <= t.at_most_empty * e.ns, '<= ' || t.at_most_empty), ''),
                    pg_temp.verdict(b.ns <= t.at_most_ns, '<= ' || t.at_most_ns || ' ns')),
           CASE WHEN b.variant NOT IN ('unguarded', 'empty', 'by_hand') THEN
               CASE WHEN h.ns > 100 * b.ns THEN '> 100 x' ELSE coalesce(to_char(h.ns / b.ns, 'FM9990.0') || ' x', '') END ELSE '' END,
           pg_temp.verdict(h.ns >= t.at_least_by_hand * b.ns, '>= ' || t.at_least_by_hand || ' x'))
  FROM bulk AS b
  JOIN label AS l ON l.section = 'bulk' AND l.variant = b.variant
  JOIN bulk AS e ON e.part = b.part AND e.variant = 'empty'
  LEFT JOIN bulk AS h ON h.part = b.part AND h.variant = 'by_hand'
  LEFT JOIN target AS t ON t.section = b.part AND t.variant = b.variant
UNION ALL
SELECT 5, l.line,
       pg_temp.line(l.text, to_char(k.value, 'FM999990'), format('[%s .. %s]', round(k.quartile[1]), round(k.quartile[3])), k.n, '', '', '', '')
  FROM median AS k
  JOIN label AS l ON l.section = 'keys' AND l.variant = k.variant
 WHERE k.part = 'keys'
UNION ALL
SELECT CASE r.section WHEN 'rate' THEN 6 WHEN 'block' THEN 6
                      WHEN 'clients' THEN 7 WHEN 'lease' THEN 9 WHEN 'renew' THEN 10
                      WHEN 'peers_acquire' THEN 11 WHEN 'peers_renew' THEN 12 WHEN 'batch' THEN 13 END, r.line,
       pg_temp.line(r.text, round(r.tps[2])::text, format('[%s .. %s]', to_char(r.quartile[1], 'FM990.000'), to_char(r.quartile[3], 'FM990.000')), r.n,
           to_char(r.quartile[2], 'FM990.000'), pg_temp.verdict(r.quartile[2] >= r.at_least, '>= ' || r.at_least), '', '')
  FROM rate AS r
UNION ALL
SELECT 8, l.line,
       pg_temp.line(format('%s, over %s us by hand', l.text, round(c.base_us)), round(c.us)::text,
           format('[%s .. %s]', to_char(c.quartile[1], 'FM0.00'), to_char(c.quartile[3], 'FM0.00')), c.n::text,
           to_char(c.quartile[2], 'FM0.00'), '', '', '')
  FROM call AS c
  JOIN label AS l ON l.section = 'call' AND l.variant = c.call
UNION ALL
SELECT 14, l.line,
       pg_temp.line(l.text, to_char(s.value, 'FM990.0'), '', '', (SELECT round(value)::text FROM bench.result WHERE part = 'storm' AND variant = s.variant || '_updates'),
           pg_temp.verdict(s.value > 95, '> 95'), '', '')
  FROM bench.result AS s
  JOIN label AS l ON l.section = 'storm' AND l.variant = s.variant
 WHERE s.part = 'storm'
UNION ALL
SELECT CASE h.part WHEN 'handover' THEN 15 ELSE 16 END, 1,
       pg_temp.line(CASE h.part WHEN 'handover' THEN 'from one holder''s release to the next one''s grant' ELSE 'from the end of its ttl to the next one''s grant' END,
           to_char(h.quartile[2], 'FM990.0'), format('[%s .. %s]', to_char(h.quartile[1], 'FM990.0'), to_char(h.quartile[3], 'FM990.0')), h.n::text, '',
           pg_temp.verdict(CASE h.part WHEN 'handover' THEN h.quartile[2] <= 100 END, '<= 100'), '', '')
  FROM (SELECT part, count(*) AS n, percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY value) AS quartile
          FROM bench.result WHERE part IN ('handover', 'takeover') GROUP BY part) AS h
UNION ALL
SELECT 17, 10 * l.line + log(g.leases)::int,
       pg_temp.line(format('%s, %s', l.text, to_char(g.leases, 'FM9,999,999')), round(g.us[2])::text,
           format('[%s .. %s]', to_char(g.quartile[1], 'FM0.00'), to_char(g.quartile[3], 'FM0.00')), g.n::text, to_char(g.quartile[2], 'FM0.00'),
           pg_temp.verdict(CASE WHEN g.call IN ('acquire', 'renew') AND g.leases = 1000000 THEN g.quartile[2] <= 1.2 END, '<= 1.2'), '', '')
  FROM growth AS g
  JOIN label AS l ON l.section = 'growth' AND l.variant = g.call
UNION ALL
SELECT 18, line,
       pg_temp.line(text, round(bytes)::text, '', '', to_char(ratio, 'FM990.00'), '', to_char(multixacts, 'FM0.000'), '')
  FROM wal;

-- A part that was not measured has no line but its title's.
SELECT CASE WHEN line = 0 THEN E'\n' ELSE '' END || text
  FROM (SELECT *, count(*) OVER (PARTITION BY part) AS n FROM lines) AS l WHERE n > 1 ORDER BY part, line;

-- What the pictures show: ratios as bars, and lines over a number of leases or clients (src/draw.rs).
COPY (SELECT kind, section, name, ours, x, value, low, high FROM (
    SELECT 'ratios' AS kind,
           CASE WHEN r.section IN ('rate', 'block') THEN 'Writing one row, 8 clients: the rate over that of the unguarded write'
                WHEN r.section = 'peers_acquire' THEN 'Acquire and release, 16 clients: over a lease table by hand'
                ELSE 'Renew, 16 clients: over a lease table by hand' END AS section,
           r.text AS name, r.variant ~ '^(inline|present|fencing)' AS ours,
           r.line AS x, r.quartile[2] AS value, r.quartile[1] AS low, r.quartile[3] AS high, array_position('{rate,block,peers_acquire,peers_renew}', r.section) AS place
      FROM rate AS r WHERE r.section IN ('rate', 'block', 'peers_acquire', 'peers_renew') AND r.variant <> 'unguarded_each'
    UNION ALL
    SELECT 'growth', 'Number of leases: microseconds a call, 1 client', l.text, true, g.leases, g.us[2], g.us[1], g.us[3], 1
      FROM growth AS g JOIN label AS l ON l.section = 'growth' AND l.variant = g.call
    UNION ALL
    SELECT 'growth', 'Number of clients: writes of one row a second', l.text, true, r.line, v.rate[2], v.rate[1], v.rate[3], 2
      FROM rate AS r, LATERAL (VALUES ('guarded', r.tps), ('unguarded', r.base_tps)) AS v (variant, rate)
      JOIN label AS l ON l.section = 'growth' AND l.variant = v.variant
     WHERE r.section = 'clients') AS p
 ORDER BY kind, place, x, name
) TO STDOUT \g :pictures
