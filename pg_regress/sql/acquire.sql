-- acquire: every answer that one session can get, what it costs, and where it is out of place.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s', max_ttl => '1 h')$$);

-- granted: the token, and how long it may be relied upon.
SELECT status, token = fencing.make_token(epoch, seq) AS token, epoch = (SELECT max(e.epoch) FROM fencing.epoch AS e) AS epoch,
       acquired_at BETWEEN statement_timestamp() AND clock_timestamp() AS acquired_at, expires_at - acquired_at AS ttl,
       trust_for <= interval '30 s' AND trust_for > interval '25 s' AS trust_for, holder, retry_after, blocked_by
  FROM fencing.acquire('jobs', 'a', 'one');
-- held: an answer, not an error. Nobody gets another's token.
SELECT status, token, epoch, seq, acquired_at < clock_timestamp() AS acquired_at, expires_at - acquired_at AS ttl, trust_for, holder,
       retry_after BETWEEN interval '20 s' AND interval '30 s' AS retry_after, blocked_by
  FROM fencing.acquire('jobs', 'a', 'two');
-- The holder is a label: the same one gets no more.
SELECT status, token, holder FROM fencing.acquire('jobs', 'a', 'one');
-- Another key, another namespace, another spelling: another lease. Keys are compared bytewise.
SELECT try($$SELECT fencing.create_namespace('other')$$);
SELECT take('other', 'a', 'other');
SELECT to_json(key), take(key, key) FROM unnest(ARRAY['A', 'a ', ' a', 'b', U&'\00e9', U&'e\0301', '0', '00', '(a,b)', E'a\nb', repeat('k', 512)]) AS key;
-- Later means larger, across leases and namespaces.
SELECT bool_and(token > previous) FROM (SELECT token, lag(token) OVER (ORDER BY acquired_at) AS previous FROM fencing.term) AS t WHERE previous IS NOT NULL;

-- What is recorded.
SELECT status FROM fencing.acquire('jobs', 'recorded', 'holder', ttl => '1 min', request_id => '00000000-0000-0000-0000-000000000001', purpose => 'a test');
SELECT key, holder, role::regrole::text = quote_ident(current_user) AS role, request_id, purpose, last_renewed_at = acquired_at AS unrenewed, expires_at - acquired_at AS ttl, ended_at, end_reason, superseded_by
  FROM fencing.term WHERE key = 'recorded';
SELECT state, holder, ttl, renewed_at = acquired_at AS unrenewed, expires_at - acquired_at AS ttl, ended_at FROM fencing.lease WHERE key = 'recorded';
SELECT f.token = t.token FROM fencing.fence AS f JOIN fencing.term AS t USING (namespace, key) WHERE key = 'recorded';

-- over: the same request_id gives the same term while it is current, and nothing once it is over.
\set id 00000000-0000-0000-0000-000000000002
SELECT status, token FROM fencing.acquire('jobs', 'asked', 'first', ttl => '10 s', request_id => :'id') \gset first_
SELECT :'first_status';
SELECT status, token = :first_token AS same_token, epoch = fencing.epoch_of(token) AS epoch, seq = fencing.seq_of(token) AS seq,
       expires_at - acquired_at AS ttl, trust_for BETWEEN interval '5 s' AND interval '10 s' AS trust_for, holder, retry_after, blocked_by
  FROM fencing.acquire('jobs', 'asked', 'again', ttl => '20 s', request_id => :'id');
SELECT count(*) FROM fencing.term WHERE key = 'asked';
-- Another request, another lease, another role: asked for the first time.
SELECT status FROM fencing.acquire('jobs', 'asked', 'other', request_id => '00000000-0000-0000-0000-000000000003');
SELECT status, token <> :first_token FROM fencing.acquire('jobs', 'asked too', 'first', request_id => :'id');
CREATE ROLE regress_acquire_anna;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_acquire_anna', 'hold')$$);
SET ROLE regress_acquire_anna;
SELECT status, token FROM fencing.acquire('jobs', 'asked', 'first', request_id => :'id');
RESET ROLE;
-- After a renewal it says what holds now.
SELECT status FROM fencing.renew(:first_token, '1 min');
SELECT status, token = :first_token AS same_token, trust_for > interval '20 s' AS trust_for FROM fencing.acquire('jobs', 'asked', 'again', request_id => :'id');
SELECT status FROM fencing.release(:first_token);
SELECT status, token, epoch, seq, acquired_at, expires_at, trust_for, holder, retry_after, blocked_by
  FROM fencing.acquire('jobs', 'asked', 'again', request_id => :'id');
SELECT state FROM fencing.inspect('jobs', 'asked');
SELECT status, token > :first_token FROM fencing.acquire('jobs', 'asked', 'new', request_id => '00000000-0000-0000-0000-000000000004');
SELECT status FROM fencing.acquire('jobs', 'asked', 'again', request_id => :'id');

-- cooling_down: after a release, min_hold; after an expiry, cool_down.
SELECT try($$SELECT fencing.create_namespace('calm', min_hold => '10 s', cool_down => '1 min')$$);
SELECT take('calm', 'a', 'calm');
SELECT status FROM fencing.release(token('calm'));
SELECT status, token, epoch, seq, trust_for, retry_after BETWEEN interval '0 s' AND interval '10 s' AS retry_after, blocked_by
  FROM fencing.acquire('calm', 'a', 'soon');
SET fencing.test_clock_offset = '11 s';
SELECT take('calm', 'a', 'calm');
SET fencing.test_clock_offset = '42 s';
SELECT status, token, retry_after BETWEEN interval '40 s' AND interval '60 s' AS retry_after FROM fencing.acquire('calm', 'a', 'soon');
SET fencing.test_clock_offset = '102 s';
SELECT take('calm again', 'a', 'calm');
SELECT end_reason, ended_at = expires_at AS at_expiry, end_observed_at > expires_at AS observed_later, ended_by, name_of(superseded_by)
  FROM fencing.term WHERE token = token('calm');
RESET fencing.test_clock_offset;

-- The ttl: null takes the namespace's; 100 ms to max_ttl.
SELECT expires_at - acquired_at FROM fencing.acquire('jobs', 'ttl 1', 'x', ttl => '100 ms');
SELECT expires_at - acquired_at FROM fencing.acquire('jobs', 'ttl 2', 'x', ttl => '1 h');
SELECT expires_at - acquired_at FROM fencing.acquire('jobs', 'ttl 3', 'x', ttl => NULL);
SELECT try($$SELECT fencing.acquire('jobs', 'ttl', 'x', ttl => '99 ms')$$);
SELECT try($$SELECT fencing.acquire('jobs', 'ttl', 'x', ttl => '0')$$);
SELECT try($$SELECT fencing.acquire('jobs', 'ttl', 'x', ttl => '1 h 1 ms')$$);
SELECT try($$SELECT fencing.acquire('jobs', 'ttl', 'x', ttl => '-1 s')$$);
SELECT try($$SELECT fencing.acquire('jobs', 'ttl', 'x', ttl => '1 month')$$);

-- Bad arguments.
SELECT try($$SELECT fencing.acquire(NULL, 'a', 'x')$$);
SELECT try($$SELECT fencing.acquire('jobs', NULL, 'x')$$);
SELECT try($$SELECT fencing.acquire('jobs', 'a', NULL)$$);
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x', wait => NULL)$$);
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x', bind_session => NULL)$$);
SELECT try($$SELECT fencing.acquire('job', 'a', 'x')$$);
SELECT try($$SELECT fencing.acquire('', 'a', 'x')$$);
SELECT try($$SELECT fencing.acquire('jobs', '', 'x')$$);
SELECT try(format('SELECT fencing.acquire(%L, %L, %L)', 'jobs', repeat('k', 513), 'x'));
SELECT try(format('SELECT fencing.acquire(%L, %L, %L)', 'jobs', repeat(U&'\20ac', 171), 'x'));
SELECT try(format('SELECT fencing.acquire(%L, %L, %L)', 'jobs', 'a', repeat('x', 1025)));
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x', wait => '-1 s')$$);
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x', wait => '1 month')$$);
-- None of that granted anything.
SELECT state FROM fencing.inspect('jobs', 'new');
SELECT state FROM fencing.inspect('jobs', 'ttl');

DROP ROLE regress_acquire_anna;
