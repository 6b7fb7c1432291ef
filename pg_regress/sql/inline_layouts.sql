-- What a row holds beside its inline column arrives as it was sent, wherever that column stands and
-- whatever is NULL beside it.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('new');

-- One table per number of columns and place of the inline one; its twin has no guard. The types
-- alternate, so that values of every alignment stand before it.
CREATE FUNCTION make(width int, place int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    types text[] := '{smallint,text,int,bigint,varchar,boolean,numeric,uuid}';
    columns text := '';
BEGIN
    FOR n IN 1 .. width LOOP
        columns := columns || CASE WHEN n = place THEN 'fence bigint' ELSE format('c%s %s', n, types[n % 8 + 1]) END
                           || CASE WHEN n < width THEN ', ' ELSE '' END;
    END LOOP;
    EXECUTE format('CREATE TABLE guarded_%s_%s (%s)', width, place, columns);
    EXECUTE format('CREATE TABLE twin_%1$s_%2$s (LIKE guarded_%1$s_%2$s)', width, place);
    PERFORM fencing.protect(format('guarded_%s_%s', width, place)::regclass, 'jobs', 'a', present_column => 'fence');
    RETURN format('%s_%s', width, place);
END
$$;

-- Rows with every second, every third, no or all columns NULL; the same for both tables.
CREATE FUNCTION fill(layout text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    names text;
    "values" text;
BEGIN
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
           string_agg(CASE WHEN attname = 'fence' THEN token('new')::text
                           ELSE format('CASE WHEN k = 0 OR k < 4 AND %s %% (k + 1) > 0 THEN %s END', attnum,
                                       CASE atttypid::regtype::text
                                           WHEN 'uuid' THEN 'gen_random_uuid()'
                                           WHEN 'boolean' THEN 'k = 0'
                                           WHEN 'text' THEN format('repeat(''x'', %s)', attnum * 3)
                                           WHEN 'character varying' THEN format('repeat(''y'', %s)', attnum * 40)
                                           ELSE format('(k + %s)::%s', attnum, atttypid::regtype) END) END,
                      ', ' ORDER BY attnum)
      INTO names, "values"
      FROM pg_attribute WHERE attrelid = ('guarded_' || layout)::regclass AND attnum > 0 AND NOT attisdropped;
    EXECUTE format('CREATE TEMP TABLE sent AS SELECT %s FROM (SELECT %s FROM generate_series(0, 4) AS k) AS r(%s)', names, "values", names);
    EXECUTE format('INSERT INTO guarded_%s (%s) SELECT %s FROM sent', layout, names, names);
    EXECUTE format('INSERT INTO twin_%s (%s) SELECT %s FROM sent', layout, names, names);
    DROP TABLE sent;
    -- Written again by an UPDATE.
    EXECUTE format('UPDATE guarded_%s SET fence = $1', layout) USING token('new');
    EXECUTE format('UPDATE twin_%s SET fence = NULL', layout);
END
$$;

-- Rows that one of the two has and the other has not.
CREATE FUNCTION differences(layout text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    different bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((SELECT to_jsonb(t) FROM twin_%1$s AS t EXCEPT ALL SELECT to_jsonb(g) FROM guarded_%1$s AS g)
        UNION ALL (SELECT to_jsonb(g) FROM guarded_%1$s AS g EXCEPT ALL SELECT to_jsonb(t) FROM twin_%1$s AS t)) AS d', layout) INTO different;
    RETURN different;
END
$$;

CREATE TABLE layout AS SELECT make(width, place) AS layout FROM generate_series(1, 18) AS width, generate_series(1, width) AS place
    WHERE place IN (1, width / 2, width);
SELECT count(fill(layout)) FROM layout;
SELECT count(*), sum(differences(layout)) FROM layout;

-- A column less before it, and a column more after it: rows of both shapes.
SELECT count(try(format('ALTER TABLE guarded_%1$s DROP COLUMN c1; ALTER TABLE twin_%1$s DROP COLUMN c1', layout)))
  FROM layout WHERE layout IN ('8_8', '9_9', '16_16', '17_17');
SELECT layout, fill(layout), differences(layout) FROM layout WHERE layout IN ('8_8', '9_9', '16_16', '17_17') ORDER BY 1;
SELECT count(try(format('ALTER TABLE guarded_%1$s ADD COLUMN later int DEFAULT 7; ALTER TABLE twin_%1$s ADD COLUMN later int DEFAULT 7', layout)))
  FROM layout WHERE layout IN ('8_8', '9_9', '16_16', '17_17');
SELECT layout, fill(layout), differences(layout) FROM layout WHERE layout IN ('8_8', '9_9', '16_16', '17_17') ORDER BY 1;
