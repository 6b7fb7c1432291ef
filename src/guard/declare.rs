//! What the arguments of `protect` and `alter_guard` declare, and whether a table can have it.

use super::resolve::Guard;
use crate::pg::entry::Args;
use crate::pg::relation::{Kind, Relation};
use fencing_core::admission::MissingRule;
use fencing_core::definition::{Definition, KeySource};
use fencing_core::{Code, Error, name, remote};

fn invalid(message: &str, detail: &str) -> Error {
    Error::new(Code::InvalidParameter, message.to_owned()).detail(detail)
}

/// The definition that `protect`'s arguments declare.
pub fn declared(args: &Args) -> Result<Definition, Error> {
    let namespace = args.string(1).ok_or_else(|| Error::null("namespace"))?;
    let given = |n, argument: &str| args.label(n).ok_or_else(|| Error::null(argument));
    let (fence, on_missing) = (given(6, "fence")?, given(7, "on_missing")?);
    let (mode, level) = (given(8, "mode")?, given(9, "level")?);
    let key = key_source(args)?.ok_or_else(|| {
        invalid(
            "neither key nor key_columns given",
            "Give key for one lease for the table, or key_columns for one lease per value.",
        )
    })?;
    let definition = Definition {
        coordinator: coordinator(&fence, args.string(10))?,
        namespace,
        key,
        token_column: args.name(4),
        present_column: args.name(5),
        on_missing: missing_rule(&on_missing),
        observe: mode == "observe",
        statement_level: level == "statement",
    };
    check_names(&definition)?;
    Ok(definition)
}

/// What `alter_guard`'s arguments make of a definition: NULL keeps, an empty name of a column takes
/// the column out.
pub fn changed(args: &Args, earlier: &Definition) -> Result<Definition, Error> {
    let earlier_fence = if earlier.coordinator.is_some() { "destination" } else { "lease" };
    let fence = args.label(6).unwrap_or_else(|| earlier_fence.to_owned());
    let kept = || earlier.coordinator.clone().filter(|_| fence == "destination");
    let column = |n, earlier: &Option<String>| match args.name(n) {
        Some(name) => Some(name).filter(|name| !name.is_empty()),
        None => earlier.clone(),
    };
    let definition = Definition {
        coordinator: coordinator(&fence, args.string(10).or_else(kept))?,
        namespace: args.string(1).unwrap_or_else(|| earlier.namespace.clone()),
        key: key_source(args)?.unwrap_or_else(|| earlier.key.clone()),
        token_column: column(4, &earlier.token_column),
        present_column: column(5, &earlier.present_column),
        on_missing: args.label(7).map_or(earlier.on_missing, |rule| missing_rule(&rule)),
        observe: args.label(8).map_or(earlier.observe, |mode| mode == "observe"),
        statement_level: args.label(9).map_or(earlier.statement_level, |level| level == "statement"),
    };
    check_names(&definition)?;
    Ok(definition)
}

/// Whether `alter_guard`'s arguments may leave a trigger without a place.
pub fn may_drop_triggers(args: &Args) -> bool {
    args.raw(2).is_some() || args.raw(3).is_some() || args.raw(9).is_some()
}

fn missing_rule(label: &str) -> MissingRule {
    if label == "admit" { MissingRule::Admit } else { MissingRule::Reject }
}

/// The coordinator elsewhere whose leases they are, if it is one: of a guard with `fence`, that has, or
/// had, `coordinator`.
fn coordinator(fence: &str, coordinator: Option<String>) -> Result<Option<String>, Error> {
    match (fence == "destination", coordinator) {
        (true, None) => Err(invalid(
            "no coordinator given",
            "A guard with fence => 'destination' compares the tokens of a coordinator elsewhere: name it.",
        )),
        (false, Some(_)) => Err(invalid(
            "coordinator given without fence => 'destination'",
            "A guard with fence => 'lease' compares the terms of this database.",
        )),
        (_, coordinator) => Ok(coordinator),
    }
}

fn key_source(args: &Args) -> Result<Option<KeySource>, Error> {
    match (args.bytes(2), args.names(3, "key_columns")) {
        (Some(key), None) => {
            name::check_key(&key)?;
            Ok(Some(KeySource::Fixed(crate::pg::text::from_server(&key))))
        }
        (None, Some(columns)) => {
            let columns = columns?;
            if columns.is_empty() {
                return Err(invalid("no key columns given", "A guard with key_columns needs at least one."));
            }
            Ok(Some(KeySource::Columns(columns)))
        }
        (Some(_), Some(_)) => Err(invalid(
            "both key and key_columns given",
            "Give key for one lease for the table, or key_columns for one lease per value.",
        )),
        (None, None) => Ok(None),
    }
}

fn check_names(definition: &Definition) -> Result<(), Error> {
    if let Some(coordinator) = &definition.coordinator {
        remote::check_name(coordinator)?;
        remote::check_namespace(&definition.namespace)?;
    }
    check_columns_differ(definition)
}

fn check_columns_differ(definition: &Definition) -> Result<(), Error> {
    let mut columns: Vec<&String> = definition.token_column.iter().chain(&definition.present_column).collect();
    if let KeySource::Columns(names) = &definition.key {
        columns.extend(names);
    }
    columns.sort();
    if let Some(pair) = columns.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(invalid(&format!("column \"{}\" given twice", pair[0]), "Each column has one part in a guard."));
    }
    Ok(())
}

/// Only what triggers can guard: ordinary and partitioned tables that outlive the session.
pub fn require_guardable(table: &Relation) -> Result<(), Error> {
    let wrong = match table.kind() {
        Kind::Other => "Only ordinary and partitioned tables can be guarded.",
        _ if table.is_internal() => "System catalogs and the extension's own tables can't be guarded.",
        Kind::OtherMethod => "Only tables of the access method heap can be guarded.",
        _ if table.is_temporary() => "A temporary table is seen by its own session alone.",
        Kind::Heap | Kind::Partitioned => return Ok(()),
    };
    Err(Error::new(Code::WrongObjectType, format!("cannot guard \"{}\"", table.display_name())).detail(wrong))
}

/// What statement triggers alone can guard: they don't see rows, nor writes through a parent.
pub fn require_plain(target: &Relation, definition: &Definition) -> Result<(), Error> {
    if target.kind() != Kind::Heap || target.is_partition() || target.inherits() {
        let message = format!("cannot guard \"{}\" by statement", target.display_name());
        return Err(Error::new(Code::WrongObjectType, message)
            .detail("level => 'statement' is for plain tables, without partitions or inheritance."));
    }
    let columns = definition.token_column.is_some() || definition.present_column.is_some();
    if columns || !matches!(definition.key, KeySource::Fixed(_)) {
        return Err(Error::new(Code::InvalidParameter, "level => 'statement' can't be combined with columns")
            .detail("Statement triggers see no rows: such a guard needs a key, and neither key_columns nor token_column nor present_column."));
    }
    Ok(())
}

/// The inline column is write-only: nothing in it may come from anywhere but the statement itself.
pub fn check_inline_column(table: &Relation, guard: &Guard) -> Result<(), Error> {
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
