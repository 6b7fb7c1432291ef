-- Epochs: from one to the next, in one call or step by step.

CREATE FUNCTION fencing.advance_epoch(reason text, carry_unresolved boolean DEFAULT false, force boolean DEFAULT false)
    RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_advance_epoch';
COMMENT ON FUNCTION fencing.advance_epoch(text, boolean, boolean) IS
    'Opens the next epoch, in one transaction, and gives its number: what a failover hook or a runbook calls after a restore, a promotion or a copy. Every older term is void. Waits for open writers and acquires, within fencing.max_wait (55P03 names them). carry_unresolved: although effects are unresolved (else LF010); force: although the clock leaps by more than a year (else 22008). Called again, it opens another one. Durable. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.begin_epoch_transition(reason text)
    RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_begin_epoch_transition';
COMMENT ON FUNCTION fencing.begin_epoch_transition(text) IS
    'Stops admitting: from its commit on nothing is acquired, and guarded writes are LF007, until the next epoch is open. Waits for open writers and acquires, within fencing.max_wait (55P03 names them); records the last state as an event. Gives the number of the epoch that closes, also when repeated. Durable. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.unresolved(
    OUT destination text, OUT intent text, OUT effect_id bigint, OUT status text, OUT since timestamptz, OUT detail jsonb)
    RETURNS SETOF record LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'fencing_unresolved';
COMMENT ON FUNCTION fencing.unresolved() IS
    'Effects whose outcome is not known, to be reconciled before the next epoch is opened. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.open_epoch(reason text, carry_unresolved boolean DEFAULT false, force boolean DEFAULT false)
    RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_open_epoch';
COMMENT ON FUNCTION fencing.open_epoch(text, boolean, boolean) IS
    'Opens the next epoch, once begin_epoch_transition has closed the last one (else 55000), and gives its number. Every older term is void. Leases are granted again; every guarded table stays blocked (LF007) until it is installed, proved and resumed. carry_unresolved: although effects are unresolved (else LF010); force: although the clock leaps by more than a year (else 22008). Durable. For superusers and fencing.epoch_authority';
