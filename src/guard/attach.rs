//! The triggers that a guard consists of, and the SQL that attaches them to a table and to all below
//! it.

use crate::pg::catalog::{self, BEFORE_EACH_ROW, BEFORE_STATEMENT, BEFORE_TRUNCATE, StoredTrigger};
use crate::pg::extension;
use crate::pg::mutant::without;
use crate::pg::relation::{quote_identifier, quote_literal, quoted_name};
use fencing_core::definition::{Definition, KeySource};
use pgrx::pg_sys::Oid;

/// Names of a guard's triggers begin so: after any that people give, so that no later BEFORE trigger
/// changes a row behind the guard.
const PREFIX: &str = "~fencing";

/// One of a guard's triggers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// For each row.
    Row,
    /// For each statement.
    Statement,
    /// For TRUNCATE.
    Truncate,
}

const PARTS: [Part; 3] = [Part::Row, Part::Truncate, Part::Statement];

/// Where in a tree of tables one stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The table that was protected.
    Root,
    /// Below it by inheritance: nothing of its parent's fires for it.
    Child,
    /// A partition: PostgreSQL clones the row trigger of its parent to it.
    Partition,
}

/// How much of a guard is put right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything: what is missing, disabled, renamed or says something else.
    All,
    /// What tables that have joined the tree are missing. What somebody has changed stays so.
    Joined,
}

impl Part {
    /// What it fires for, in a word.
    pub fn word(self) -> &'static str {
        match self {
            Part::Row => "row",
            Part::Statement => "statement",
            Part::Truncate => "truncate",
        }
    }

    fn function(self) -> (Oid, &'static str) {
        let oids = extension::oids();
        match self {
            Part::Row => (oids.guard_row, "guard_row"),
            Part::Statement => (oids.guard_statement, "guard_statement"),
            Part::Truncate => (oids.guard_truncate, "guard_truncate"),
        }
    }

    fn events(self) -> &'static str {
        match self {
            Part::Truncate => "TRUNCATE",
            Part::Row | Part::Statement => "INSERT OR UPDATE OR DELETE",
        }
    }

    fn fires(self) -> i16 {
        match self {
            Part::Row => BEFORE_EACH_ROW,
            Part::Statement => BEFORE_STATEMENT,
            Part::Truncate => BEFORE_TRUNCATE,
        }
    }

    fn belongs_to(self, definition: &Definition) -> bool {
        match self {
            Part::Row => !definition.statement_level,
            Part::Truncate => true,
            Part::Statement => matches!(definition.key, KeySource::Fixed(_)),
        }
    }

    fn name(self) -> String {
        let prefix = if without("sorting") { "a_fencing" } else { PREFIX };
        match self {
            Part::Row => prefix.to_owned(),
            Part::Statement => format!("{prefix}_statement"),
            Part::Truncate => format!("{prefix}_truncate"),
        }
    }
}

/// Whether a trigger that has the name of a guard's calls something else, or not for all that it should.
pub fn is_changed(trigger: &StoredTrigger) -> bool {
    let whole =
        |part: Part| part.function().0 == trigger.function && part.fires() == trigger.fires && trigger.unconditional;
    trigger.name.starts_with(PREFIX) && !PARTS.into_iter().any(whole)
}

/// A row trigger of a table's own, where its parent's clone was or will be.
fn own_row_name() -> String {
    format!("{PREFIX}_own")
}

/// Every trigger of every guard in the database.
pub fn all() -> Vec<StoredTrigger> {
    catalog::triggers_calling(&extension::guard_functions())
}

/// The guard's triggers that a table has.
pub fn of_table(triggers: &[StoredTrigger], table: Oid) -> impl Iterator<Item = &StoredTrigger> {
    triggers.iter().filter(move |trigger| trigger.table == table)
}

/// Whether a table has any trigger of a guard.
pub fn is_guarded(triggers: &[StoredTrigger], table: Oid) -> bool {
    of_table(triggers, table).next().is_some()
}

/// The guard that a table has of its own: its parent has none, or another.
pub fn own(triggers: &[StoredTrigger], table: Oid) -> Option<Definition> {
    let own = of_table(triggers, table).filter(|trigger| !trigger.is_clone);
    own.filter_map(|trigger| Definition::parse(&trigger.arguments).ok()).next()
}

/// The highest table above this one (or itself) that has a guard: where its guard is declared.
pub fn root(triggers: &[StoredTrigger], table: Oid) -> Option<Oid> {
    let above = catalog::ancestors(table);
    let nearest_last = above.into_iter().rev().chain([table]);
    nearest_last.into_iter().find(|table| is_guarded(triggers, *table))
}

/// What puts the guard of `root` and of all below it right: SQL to be run as their owner, empty if
/// nothing is to be done. `tables` are those below it.
pub fn plan(root: Oid, tables: &[Oid], definition: &Definition, existing: &[StoredTrigger], extent: Extent) -> String {
    let argument = definition.argument();
    let mut plan = Plan { definition, argument, extent, existing, root, below: tables, sql: String::new() };
    plan.table(root, Place::Root);
    // A temporary child is its own session's alone.
    for table in tables.iter().filter(|table| **table != root && !catalog::is_temporary(**table)) {
        let place = if catalog::is_partition(*table) { Place::Partition } else { Place::Child };
        let left_out = match place {
            Place::Child => without("inheritance"),
            _ => without("partitions"),
        };
        if !left_out {
            plan.table(*table, place);
        }
    }
    plan.sql
}

/// What gives a table that has left its tree a row trigger of its own again, if it lost one.
pub fn plan_left(table: Oid, definition: &Definition, existing: &[StoredTrigger]) -> String {
    let (argument, extent, root) = (definition.argument(), Extent::Joined, Oid::INVALID);
    let mut plan = Plan { definition, argument, extent, existing, root, below: &[], sql: String::new() };
    plan.table(table, Place::Child);
    plan.sql
}

struct Plan<'a> {
    definition: &'a Definition,
    argument: String,
    extent: Extent,
    existing: &'a [StoredTrigger],
    root: Oid,
    /// The tables below the root; it may be among them.
    below: &'a [Oid],
    sql: String,
}

impl Plan<'_> {
    fn table(&mut self, table: Oid, place: Place) {
        // One that has joined with another guard of its own keeps it.
        let other = |t: &StoredTrigger| !t.is_clone && t.arguments != [&*self.argument];
        if self.extent == Extent::Joined && (place == Place::Root || of_table(self.existing, table).any(other)) {
            return;
        }
        for part in PARTS {
            self.part(table, place, part);
        }
    }

    fn part(&mut self, table: Oid, place: Place, part: Part) {
        let function = part.function().0;
        let (clones, mut own): (Vec<_>, Vec<_>) =
            of_table(self.existing, table).filter(|t| t.function == function).partition(|t| t.is_clone);
        let cloned = part == Part::Row && place == Place::Partition;
        let wanted = part.belongs_to(self.definition) && !cloned;
        if wanted {
            let good = |t: &&StoredTrigger| t.fires == part.fires() && t.arguments == [&*self.argument];
            own.sort_by_key(|t| !good(t));
            self.keep(table, part, own.first().copied());
            own.drain(..own.len().min(1));
        }
        // What the parent's clone makes superfluous, or the definition has no place for.
        if !cloned || !clones.is_empty() {
            for trigger in own {
                self.run(format!("DROP TRIGGER {} ON {}", quote_identifier(&trigger.name), quoted_name(table)));
            }
        }
        if cloned && self.extent == Extent::All {
            for clone in clones.iter().filter(|clone| !clone.always) {
                self.enable(table, &clone.name);
            }
        }
    }

    /// Makes sure that the table has this trigger, `present` being what it has of the kind.
    fn keep(&mut self, table: Oid, part: Part, present: Option<&StoredTrigger>) {
        let name = part.name();
        let Some(present) = present else {
            // The name of a row trigger may be that of a clone to come.
            let name = if part == Part::Row && table != self.root { own_row_name() } else { name };
            let name = self.free(table, name);
            self.create(table, part, &name, "CREATE TRIGGER");
            return self.enable(table, &name);
        };
        if self.extent == Extent::Joined {
            return;
        }
        let mut name = present.name.clone();
        if !name.starts_with(PREFIX) && !without("sorting") {
            let (old, table) = (quote_identifier(&name), quoted_name(table));
            name = part.name();
            self.run(format!("ALTER TRIGGER {old} ON {table} RENAME TO {}", quote_identifier(&name)));
        }
        let same = present.fires == part.fires() && present.unconditional && present.arguments == [&*self.argument];
        if !same {
            // Replaced, not dropped: no moment without a guard, and readers go on.
            self.create(table, part, &name, "CREATE OR REPLACE TRIGGER");
        }
        // Of a partitioned table all clones follow.
        if !same || !present.always || self.some_clone_not_always(part) {
            self.enable(table, &name);
        }
    }

    /// The name, or one that sorts after it where a trigger that isn't the guard's has taken it.
    fn free(&self, table: Oid, name: String) -> String {
        // A row trigger of the root is cloned to partitions, under its name.
        let clones = if table == self.root { self.below } else { &[] };
        let taken =
            |name: &String| std::iter::once(&table).chain(clones).any(|table| catalog::has_trigger(*table, name));
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(name)
    }

    fn some_clone_not_always(&self, part: Part) -> bool {
        let function = part.function().0;
        part == Part::Row && self.existing.iter().any(|t| t.function == function && t.is_clone && !t.always)
    }

    fn create(&mut self, table: Oid, part: Part, name: &str, command: &str) {
        self.run(format!(
            "{command} {} BEFORE {} ON {} FOR EACH {} EXECUTE FUNCTION fencing.{}({})",
            quote_identifier(name),
            part.events(),
            quoted_name(table),
            if part == Part::Row { "ROW" } else { "STATEMENT" },
            part.function().1,
            quote_literal(&self.argument)
        ));
    }

    fn enable(&mut self, table: Oid, name: &str) {
        if !without("always") {
            self.run(format!("ALTER TABLE {} ENABLE ALWAYS TRIGGER {}", quoted_name(table), quote_identifier(name)));
        }
    }

    fn run(&mut self, command: String) {
        self.sql += &command;
        self.sql += ";\n";
    }
}
