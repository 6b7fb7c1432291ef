//! `protect` and `unprotect`: attaching a guard's triggers to a table, and taking them off.

use super::resolve::{self, Guard};
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::relation::{Change, Kind, Locked, Relation, Trigger, quote_identifier, quote_literal, quoted_name};
use crate::pg::{extension, role};
use crate::store::namespace::{self, Privilege};
use fencing_core::admission::MissingRule;
use fencing_core::definition::{Definition, KeySource};
use fencing_core::{Code, Error, name};
use pgrx::pg_sys::Oid;

/// Names that sort after any that people give, so that no later BEFORE trigger changes a row behind
/// the guard.
const ROW_TRIGGER: &str = "~fencing";
const STATEMENT_TRIGGER: &str = "~fencing_statement";
const TRUNCATE_TRIGGER: &str = "~fencing_truncate";

/// Only what triggers can guard: ordinary and partitioned tables that outlive the session.
fn require_guardable(table: &Relation) -> Result<(), Error> {
    let wrong = match table.kind() {
        Kind::Other => "Only ordinary and partitioned tables can be guarded.",
        _ if table.is_internal() => "System catalogs and the extension's own tables can't be guarded.",
        Kind::OtherMethod => "Only tables of the access method heap can be guarded.",
        _ if table.is_temporary() => "A temporary table is seen by its own session alone.",
        _ if table.inherits() => {
            "It takes part in table inheritance, where a parent's triggers don't fire for its children."
        }
        Kind::Heap | Kind::Partitioned => return Ok(()),
    };
    Err(Error::new(Code::WrongObjectType, format!("cannot guard \"{}\"", table.display_name())).detail(wrong))
}

/// The guard's triggers that the table has.
fn guard_triggers(table: &Relation) -> Vec<Trigger> {
    let oids = extension::oids();
    let functions = [oids.guard_row, oids.guard_statement, oids.guard_truncate];
    table.triggers().into_iter().filter(|t| functions.contains(&t.function())).collect()
}

/// A partition, which stays as long as its parent is locked.
fn open_partition(table: Oid, change: Change) -> Result<Locked, Error> {
    Locked::open(table, change).ok_or_else(|| Error::new(Code::UndefinedObject, "a partition was dropped meanwhile"))
}

/// `protect(relation, namespace, key, key_columns, token_column, present_column, fence, on_missing,
/// mode, level, coordinator)`
pub fn protect(args: &Args) -> Result<Answer<'static>, Error> {
    let relation = args.oid(0).ok_or_else(|| Error::null("relation"))?;
    let definition = declared(args)?;
    let namespace = namespace::require(&definition.namespace)?;
    let target = Locked::open_own(relation, Change::Add)?;
    require_guardable(&target)?;
    namespace::require_privilege(&namespace, &[Privilege::Administer])?;
    // It must not be dropped until the triggers that name it are there for all to see.
    Tag::namespace(namespace.id).lock(Mode::Reference);
    namespace::require(&definition.namespace)?;
    if !guard_triggers(&target).is_empty() {
        return Err(Error::new(
            Code::DuplicateObject,
            format!("table \"{}\" is already guarded", target.display_name()),
        )
        .hint("Remove its guard first: SELECT fencing.unprotect('table')."));
    }
    if definition.statement_level {
        require_plain(&target, &definition)?;
    }
    let tables = target.with_partitions(Change::Add);
    for table in &tables {
        let table = open_partition(*table, Change::Add)?;
        let guard = resolve::resolve(&table, definition.clone())?;
        check_inline_column(&table, &guard)?;
    }
    Ok(Answer::Execute {
        sql: create_triggers(&target, &tables, &definition),
        grants: missing_grants(),
        owner: extension::oids().owner,
    })
}

/// The definition that the arguments declare.
fn declared(args: &Args) -> Result<Definition, Error> {
    let namespace = args.string(1).ok_or_else(|| Error::null("namespace"))?;
    let label = |n, argument: &str| args.label(n).ok_or_else(|| Error::null(argument));
    let (fence, on_missing) = (label(6, "fence")?, label(7, "on_missing")?);
    let (mode, level) = (label(8, "mode")?, label(9, "level")?);
    if fence == "destination" || args.string(10).is_some() {
        return Err(Error::new(Code::FeatureNotSupported, "guards of remote coordinators are not supported yet")
            .hint("Leave out fence and coordinator to guard the table with a lease of this database."));
    }
    let invalid = |message: &str, detail: &str| Error::new(Code::InvalidParameter, message.to_owned()).detail(detail);
    let key = match (args.bytes(2), args.names(3)) {
        (Some(key), None) => {
            name::check_key(&key)?;
            KeySource::Fixed(crate::pg::text::from_server(&key))
        }
        (None, Some(columns)) => {
            let columns = columns?;
            if columns.is_empty() {
                return Err(invalid("no key columns given", "A guard with key_columns needs at least one."));
            }
            KeySource::Columns(columns)
        }
        (Some(_), Some(_)) => {
            return Err(invalid(
                "both key and key_columns given",
                "Give key for one lease for the table, or key_columns for one lease per value.",
            ));
        }
        (None, None) => {
            return Err(invalid(
                "neither key nor key_columns given",
                "Give key for one lease for the table, or key_columns for one lease per value.",
            ));
        }
    };
    let definition = Definition {
        namespace,
        key,
        token_column: args.name(4),
        present_column: args.name(5),
        on_missing: if on_missing == "admit" { MissingRule::Admit } else { MissingRule::Reject },
        observe: mode == "observe",
        statement_level: level == "statement",
    };
    let mut columns: Vec<&String> = definition.token_column.iter().chain(&definition.present_column).collect();
    if let KeySource::Columns(names) = &definition.key {
        columns.extend(names);
    }
    columns.sort();
    if let Some(pair) = columns.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(invalid(&format!("column \"{}\" given twice", pair[0]), "Each column has one part in a guard."));
    }
    Ok(definition)
}

/// The trigger functions are nobody's to attach by hand; `protect` lends the right to.
fn missing_grants() -> Option<(String, String)> {
    let user = role::current_user();
    let missing = extension::not_executable_by(user);
    if missing.is_empty() {
        return None;
    }
    extension::serialize_grants();
    let (functions, user) = (missing.join(", "), quote_identifier(&role::name(user)));
    Some((
        format!("GRANT EXECUTE ON FUNCTION {functions} TO {user}"),
        format!("REVOKE EXECUTE ON FUNCTION {functions} FROM {user}"),
    ))
}

/// What statement triggers alone can guard: they don't see rows, nor writes through a parent.
fn require_plain(target: &Relation, definition: &Definition) -> Result<(), Error> {
    if target.kind() != Kind::Heap || target.is_partition() {
        let message = format!("cannot guard \"{}\" by statement", target.display_name());
        return Err(Error::new(Code::WrongObjectType, message)
            .detail("level => 'statement' is for plain tables, which are no partition and have none."));
    }
    let columns = definition.token_column.is_some() || definition.present_column.is_some();
    if columns || !matches!(definition.key, KeySource::Fixed(_)) {
        return Err(Error::new(Code::InvalidParameter, "level => 'statement' can't be combined with columns")
            .detail("Statement triggers see no rows: such a guard needs a key, and neither key_columns nor token_column nor present_column."));
    }
    Ok(())
}

/// The inline column is write-only: nothing in it may come from anywhere but the statement itself.
fn check_inline_column(table: &Relation, guard: &Guard) -> Result<(), Error> {
    let Some(name) = &guard.definition.present_column else { return Ok(()) };
    let refuse = |code, what: &str, hint: &str| {
        let message = format!("column \"{name}\" of table \"{}\" {what}", table.display_name());
        let detail = "The inline column presents a token and is always stored as NULL: what can be read back must present nothing.";
        Err(Error::new(code, message).detail(detail).hint(hint))
    };
    if guard.present_has_default {
        return refuse(Code::InvalidColumnDefinition, "has a default", "Drop the default.");
    }
    if table.column(name)?.is_not_null {
        return refuse(Code::InvalidColumnDefinition, "is declared NOT NULL", "Drop NOT NULL.");
    }
    if table.kind() == Kind::Heap && table.has_values(guard.present_column) {
        return refuse(Code::CheckViolation, "has stored values", "Set the column to NULL in every row first.");
    }
    Ok(())
}

fn create_triggers(target: &Relation, tables: &[Oid], definition: &Definition) -> String {
    let arguments: Vec<_> = definition.arguments().iter().map(|a| quote_literal(a)).collect();
    let arguments = arguments.join(", ");
    let create = |table: Oid, name: &str, events: &str, each: &str, function: &str| {
        let (name, table) = (quote_identifier(name), quoted_name(table));
        format!(
            "CREATE TRIGGER {name} BEFORE {events} ON {table} FOR EACH {each} EXECUTE FUNCTION fencing.{function}({arguments});\n\
             ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name};\n"
        )
    };
    const WRITES: &str = "INSERT OR UPDATE OR DELETE";
    let mut sql = String::new();
    if !definition.statement_level {
        // PostgreSQL clones it to every partition, those to come included.
        sql += &create(target.oid(), ROW_TRIGGER, WRITES, "ROW", "guard_row");
    }
    for table in tables {
        sql += &create(*table, TRUNCATE_TRIGGER, "TRUNCATE", "STATEMENT", "guard_truncate");
        if matches!(definition.key, KeySource::Fixed(_)) {
            sql += &create(*table, STATEMENT_TRIGGER, WRITES, "STATEMENT", "guard_statement");
        }
    }
    sql
}

/// `unprotect(relation)`
pub fn unprotect(args: &Args) -> Result<Answer<'static>, Error> {
    let relation = args.oid(0).ok_or_else(|| Error::null("relation"))?;
    let target = Locked::open_own(relation, Change::Drop)?;
    let triggers = guard_triggers(&target);
    let Some(trigger) = triggers.first() else {
        return Err(Error::new(Code::UndefinedObject, format!("table \"{}\" is not guarded", target.display_name()))
            .hint("SELECT * FROM fencing.guards lists the guarded tables."));
    };
    // A guard that can't be read, or whose namespace is gone, is its table's owner's to remove.
    let namespace = Definition::parse(&trigger.arguments()).ok().and_then(|d| namespace::by_name(&d.namespace));
    if let Some(namespace) = namespace {
        namespace::require_privilege(&namespace, &[Privilege::Administer])?;
    }
    let mut sql = String::new();
    for table in target.with_partitions(Change::Drop) {
        let open = open_partition(table, Change::Drop)?;
        for trigger in guard_triggers(&open) {
            // A partition's row trigger is its parent's clone and goes with it.
            if table == target.oid() || trigger.function() != extension::oids().guard_row {
                sql += &format!("DROP TRIGGER {} ON {};\n", quote_identifier(&trigger.name()), quoted_name(table));
            }
        }
    }
    Ok(Answer::Execute { sql, grants: None, owner: extension::oids().owner })
}
