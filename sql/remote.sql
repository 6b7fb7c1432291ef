-- Remote destinations: tables of this database whose leases a coordinator elsewhere grants.

CREATE FUNCTION fencing.register_coordinator(name text, kind text, identity text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_register_coordinator';
COMMENT ON FUNCTION fencing.register_coordinator(text, text, text) IS
    'Registers a coordinator elsewhere under a name ([a-z0-9][a-z0-9_.-]{0,62}), for guards with fence => ''destination''. kind: fencing, etcd, kubernetes, zookeeper or other; identity: which one it is, for people. Nothing passes before an epoch is installed. For superusers and members of fencing.epoch_authority';

CREATE FUNCTION fencing.drop_coordinator(name text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_drop_coordinator';
COMMENT ON FUNCTION fencing.drop_coordinator(text) IS
    'Forgets a coordinator, unless a guard names it (2BP01), with all of its fences; the number of its last epoch stays, and only a newer one is installed under the name again. For superusers and members of fencing.epoch_authority';

CREATE FUNCTION fencing.install_epoch(coordinator text, epoch bigint, identity uuid)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_install_epoch';
COMMENT ON FUNCTION fencing.install_epoch(text, bigint, uuid) IS
    'From now on tokens of this epoch (1 to 2^24-1) of the coordinator are accepted here, and of no other. Waits for open transactions that have written under the coordinator''s tokens, at most fencing.max_wait (55P03). A lower epoch is LF005. The same again changes nothing; on a restored or cloned destination it is LF006, since what it has accepted may be forgotten. The same with another identity is a conflict: a warning, and the destination is closed (LF007) until a newer one is installed. For superusers and members of fencing.epoch_authority';

CREATE FUNCTION fencing.seal(coordinator text, namespace text, key text, token bigint)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_seal';
COMMENT ON FUNCTION fencing.seal(text, text, text, bigint) IS
    'Raises the fence of a lease of a coordinator elsewhere to this token: once that is committed, no older holder writes any more, and what is read then is what it left. Raises as a guard does (LF001, LF005 to LF007). Waits for open writers of older tokens, and for whoever changes the coordinator, at most fencing.max_wait (55P03 names them). Presents nothing. Not in a REPEATABLE READ or SERIALIZABLE block (25001). For who may write a table that the lease guards, and for members of fencing.epoch_authority';

CREATE FUNCTION fencing.purge_fences(coordinator text, idle_for interval)
    RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_purge_fences';
COMMENT ON FUNCTION fencing.purge_fences(text, interval) IS
    'Forgets the fences of a coordinator that have not been used for idle_for (use is recorded once an hour, so it may take an hour longer), but for those that are held. Waits for whoever changes the coordinator or purges it as well, at most fencing.max_wait (55P03 names them). A floor stands for them: no token below the highest of them is taken for a lease of its namespace that has no fence. How many. For superusers and members of fencing.epoch_authority';

CREATE FUNCTION fencing.coordinators(
    OUT name text, OUT kind text, OUT identity text, OUT state text, OUT epoch bigint, OUT epoch_identity uuid,
    OUT installed_at timestamptz)
    RETURNS SETOF record LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_coordinators';
COMMENT ON FUNCTION fencing.coordinators() IS
    'Every coordinator elsewhere that is registered here, with the installed epoch. state: open, no epoch, conflict (one epoch was installed with two identities) or lineage changed (restored, cloned or promoted since: a newer epoch must be installed)';
