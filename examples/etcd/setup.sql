-- A table that is written to under locks of etcd's. :cluster is etcd's own id of its cluster.
CREATE EXTENSION fencing;
SELECT fencing.register_coordinator('etcd', kind => 'etcd', identity => :'cluster');
SELECT fencing.install_epoch('etcd', 1, gen_random_uuid());

CREATE TABLE report (id int PRIMARY KEY, body text, fence bigint, written_under bigint);
INSERT INTO report VALUES (1, 'empty');
SELECT fencing.protect('report', 'jobs', key => 'nightly', fence => 'destination', coordinator => 'etcd',
                       present_column => 'fence', token_column => 'written_under');

CREATE ROLE worker LOGIN;
GRANT SELECT, UPDATE ON report TO worker;
