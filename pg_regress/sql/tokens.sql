-- Tokens as numbers: packing, unpacking, order, text form, and what is refused.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT fencing.make_token(1005113, 42) = (1005113::bigint << 39 | 42);
SELECT fencing.epoch_of(fencing.make_token(1005113, 42)), fencing.seq_of(fencing.make_token(1005113, 42));
SELECT fencing.format_token(fencing.make_token(1005113, 42));

-- The parts' maxima make the largest bigint.
SELECT fencing.make_token(16777215, 549755813887), fencing.format_token(9223372036854775807);
SELECT fencing.make_token(1, 1), fencing.make_token(1, 549755813887), fencing.make_token(16777215, 1);

-- Plain comparison is the order of terms: by epoch, then by sequence.
SELECT bool_and((fencing.make_token(a.epoch, a.seq) < fencing.make_token(b.epoch, b.seq)) = ((a.epoch, a.seq) < (b.epoch, b.seq)))
  FROM (SELECT e, s FROM unnest('{1,2,1005113,16777215}'::bigint[]) AS e, unnest('{1,2,549755813886,549755813887}'::bigint[]) AS s) AS a (epoch, seq),
       (SELECT e, s FROM unnest('{1,2,1005113,16777215}'::bigint[]) AS e, unnest('{1,2,549755813886,549755813887}'::bigint[]) AS s) AS b (epoch, seq);

-- Overflow of either part, never a wrap.
SELECT try('SELECT fencing.make_token(16777216, 1)', hints => true);
SELECT try('SELECT fencing.make_token(1, 549755813888)');
SELECT try('SELECT fencing.make_token(9223372036854775807, 9223372036854775807)');

-- Neither part can be below 1.
SELECT try('SELECT fencing.make_token(0, 1)');
SELECT try('SELECT fencing.make_token(1, 0)');
SELECT try('SELECT fencing.make_token(-1, 1)');
SELECT try('SELECT fencing.make_token(1, -9223372036854775808)');

-- NULL.
SELECT try('SELECT fencing.make_token(NULL, 1)');
SELECT try('SELECT fencing.make_token(1, NULL)');
SELECT try('SELECT fencing.epoch_of(NULL)');
SELECT try('SELECT fencing.seq_of(NULL)');
SELECT try('SELECT fencing.format_token(NULL)');

-- What no epoch and sequence can make is no token: zero, negative, one part missing.
SELECT try('SELECT fencing.epoch_of(0)', hints => true);
SELECT try('SELECT fencing.seq_of(-1)');
SELECT try('SELECT fencing.format_token(-9223372036854775808)');
SELECT try('SELECT fencing.format_token(42)');
SELECT try('SELECT fencing.epoch_of(1::bigint << 39)');
