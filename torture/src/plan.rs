//! What there is to fight for: leases, and tables of the three forms of guard.

/// Tables that are guarded by one key each.
pub const SINGLES: u16 = 8;
/// Keys of the table that is written to with `present()`.
pub const PRESENTED: u16 = 150;
/// Keys of the table that is written to with an inline token.
pub const INLINE: u16 = 150;
/// All leases.
pub const LEASES: u16 = SINGLES + PRESENTED + INLINE;
/// Worker processes, and clients in each.
pub const WORKERS: u16 = 8;
/// Clients in a worker process; they share the terms that the process holds.
pub const THREADS: u16 = 4;
/// How long a term lasts, in ms.
pub const TTL: u64 = 250;

/// How a table is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One lease for the whole table.
    Single,
    /// A lease for each value of a column, presented by `present()`.
    Presented,
    /// A lease for each value of two columns, presented inline, stamped.
    Inline,
}

/// A lease, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lease(pub u16);

impl Lease {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Lease> {
        (0..LEASES).map(Lease)
    }

    /// How its table is guarded.
    pub fn form(self) -> Form {
        match self.0 {
            0..SINGLES => Form::Single,
            n if n < SINGLES + PRESENTED => Form::Presented,
            _ => Form::Inline,
        }
    }

    /// Whether its holder may write after its term has run out, until somebody takes over.
    pub fn is_lenient(self) -> bool {
        self.0 < SINGLES / 2
    }

    /// Its namespace.
    pub fn namespace(self) -> &'static str {
        if self.is_lenient() { "lenient" } else { "strict" }
    }

    /// Its key.
    pub fn key(self) -> String {
        match self.form() {
            Form::Single => format!("single-{}", self.0),
            Form::Presented => self.0.to_string(),
            Form::Inline => format!("({},{})", self.tenant(), self.0),
        }
    }

    fn tenant(self) -> char {
        ['a', 'b', 'c'][usize::from(self.0 % 3)]
    }

    /// The lease of a key.
    pub fn of(namespace: &str, key: &str) -> Option<Lease> {
        let digits: String = key.chars().filter(char::is_ascii_digit).collect();
        let lease = Lease(digits.parse().ok()?);
        (lease.0 < LEASES && lease.namespace() == namespace && lease.key() == key).then_some(lease)
    }

    /// Its table, in the schema of that name.
    pub fn table(self) -> String {
        match self.form() {
            Form::Single => format!("work.single_{}", self.0),
            Form::Presented => "work.presented".to_owned(),
            Form::Inline => "work.inline".to_owned(),
        }
    }

    /// What finds its row, `$1` being the lease.
    fn condition(self) -> &'static str {
        match self.form() {
            Form::Single => "id = 1",
            Form::Presented => "k = $1",
            Form::Inline => "part = $1",
        }
    }

    /// How to read its row's value, `$1` being the lease.
    pub fn read(self) -> String {
        format!("SELECT v FROM {} WHERE {} AND $1::int IS NOT NULL", self.table(), self.condition())
    }
}

/// How to write a lease's row, with the witness of it: `$1` the lease, `$2` the value, `$3` the token, `$4`
/// the operation. The witness is not guarded: it is to tell of writes that a guard let pass wrongly.
pub fn write(lease: Lease, guarded: bool) -> String {
    let (also, stamped) = match (lease.form(), guarded) {
        (Form::Inline, true) => (", fence = $3", "written_under"),
        _ => ("", "NULL::bigint"),
    };
    format!(
        "WITH w AS (UPDATE {} SET n = n + 1, v = $2{also} WHERE {} RETURNING n, {stamped} AS stamped) \
         INSERT INTO work.witness SELECT $1::int, n, $2::bigint, $3::bigint, stamped, $4::bigint FROM w",
        lease.table(),
        lease.condition()
    )
}

/// The same as one text, for a simple query.
pub fn write_text(lease: Lease, guarded: bool, v: i64, token: i64, op: u64) -> String {
    let text = write(lease, guarded).replace("$1", &lease.0.to_string()).replace("$2", &v.to_string());
    text.replace("$3", &token.to_string()).replace("$4", &op.to_string())
}

/// Tables, their rows, roles; before they are guarded.
pub fn schema() -> String {
    let mut sql = String::from(
        "CREATE SCHEMA work;
         CREATE TABLE work.presented (k int PRIMARY KEY, n bigint NOT NULL, v bigint NOT NULL) WITH (fillfactor = 50);
         CREATE TABLE work.inline (tenant text, part int, n bigint NOT NULL, v bigint NOT NULL, fence bigint,
                                   written_under bigint, PRIMARY KEY (part)) WITH (fillfactor = 50);
         CREATE TABLE work.witness (lease int, n bigint, v bigint, token bigint, stamped bigint, op bigint);
         CREATE ROLE worker LOGIN;
         GRANT USAGE ON SCHEMA work TO worker;\n",
    );
    for lease in Lease::all() {
        let table = lease.table();
        sql += &match lease.form() {
            Form::Single => format!(
                "CREATE TABLE {table} (id int PRIMARY KEY, n bigint NOT NULL, v bigint NOT NULL) WITH (fillfactor = 50); \
                 INSERT INTO {table} VALUES (1, 0, 0);\n"
            ),
            Form::Presented => format!("INSERT INTO {table} VALUES ({}, 0, 0);\n", lease.0),
            Form::Inline => format!("INSERT INTO {table} VALUES ('{}', {}, 0, 0);\n", lease.tenant(), lease.0),
        };
    }
    sql + "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA work TO worker;\n"
}

/// Namespaces and guards. Every client may prepare a transaction that holds a fence.
pub fn guards() -> String {
    let mut sql = format!(
        "SELECT fencing.create_namespace('strict', ttl => '{TTL} ms');
         SELECT fencing.create_namespace('lenient', ttl => '{TTL} ms', on_expiry => 'accept_until_superseded');
         SELECT fencing.grant_namespace(name, 'worker', privilege)
           FROM unnest('{{strict,lenient}}'::text[]) AS name, unnest('{{hold,administer}}'::text[]) AS privilege;
         SELECT fencing.protect('work.presented', 'strict', key_columns => '{{k}}');
         SELECT fencing.protect('work.inline', 'strict', key_columns => '{{tenant,part}}',
                                present_column => 'fence', token_column => 'written_under');
         ALTER ROLE worker SET fencing.allow_prepare = on;\n"
    );
    for lease in Lease::all().filter(|lease| lease.form() == Form::Single) {
        let (table, namespace, key) = (lease.table(), lease.namespace(), lease.key());
        sql += &format!("SELECT fencing.protect('{table}', '{namespace}', key => '{key}');\n");
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_found_by_its_key() {
        for lease in Lease::all() {
            assert_eq!(Lease::of(lease.namespace(), &lease.key()), Some(lease));
        }
        assert_eq!(Lease::of("strict", "9999"), None);
    }
}
