//! `protect` and `unprotect`: attaching a guard's triggers to a table, and taking them off.

use super::resolve::{self, Guard};
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::relation::{self, quote_identifier, quote_literal};
use crate::pg::{extension, role};
use crate::store::namespace::{self, Privilege};
use fencing_core::admission::MissingRule;
use fencing_core::definition::{Definition, KeySource};
use fencing_core::{Code, Error, name};
use pgrx::pg_sys::{self, Oid};

/// Names that sort after any that people give, so that no later BEFORE trigger changes a row behind
/// the guard.
const ROW_TRIGGER: &str = "~fencing";
const STATEMENT_TRIGGER: &str = "~fencing_statement";
const TRUNCATE_TRIGGER: &str = "~fencing_truncate";

/// A table that is about to get or lose a guard, locked against writers.
struct Target {
    rel: pg_sys::Relation,
    /// For messages.
    name: String,
    /// For SQL.
    quoted: String,
}

impl Target {
    fn open(relation: Oid) -> Result<Target, Error> {
        // SAFETY: catalog look-ups; the relation stays open until dropped, locked until the end.
        unsafe {
            let rel = pg_sys::try_relation_open(relation, pg_sys::ShareRowExclusiveLock as i32);
            if rel.is_null() {
                return Err(Error::new(
                    Code::UndefinedObject,
                    format!("relation with OID {} does not exist", relation.to_u32()),
                ));
            }
            Ok(Target { name: relation::display_name(rel), quoted: relation::quoted_name(rel), rel })
        }
    }

    fn form(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: the relation is open.
        unsafe { &*(*self.rel).rd_rel }
    }

    fn oid(&self) -> Oid {
        // SAFETY: the relation is open.
        unsafe { (*self.rel).rd_id }
    }

    /// Only what triggers can guard: ordinary and partitioned tables that outlive the session.
    fn require_guardable(&self) -> Result<(), Error> {
        let form = self.form();
        let kind = form.relkind as u8;
        let wrong = |detail: &str| {
            Err(Error::new(Code::WrongObjectType, format!("cannot guard \"{}\"", self.name)).detail(detail))
        };
        if !matches!(kind, pg_sys::RELKIND_RELATION | pg_sys::RELKIND_PARTITIONED_TABLE) {
            return wrong("Only ordinary and partitioned tables can be guarded.");
        }
        if form.relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP {
            return wrong("A temporary table is seen by its own session alone.");
        }
        if kind == pg_sys::RELKIND_RELATION && form.relam != pg_sys::HEAP_TABLE_AM_OID {
            return wrong("Only tables of the access method heap can be guarded.");
        }
        // SAFETY: the relation is open.
        let own_table = unsafe { pg_sys::get_namespace_name(form.relnamespace) };
        // SAFETY: NUL-terminated; null where the schema is gone.
        let own_table = !own_table.is_null() && unsafe { std::ffi::CStr::from_ptr(own_table) } == c"fencing";
        // SAFETY: the relation is open.
        if own_table || unsafe { pg_sys::IsCatalogRelation(self.rel) } {
            return wrong("System catalogs and the extension's own tables can't be guarded.");
        }
        Ok(())
    }

    fn require_owner(&self) -> Result<(), Error> {
        // SAFETY: a catalog look-up.
        if unsafe { owns(self.oid(), role::current_user()) } {
            return Ok(());
        }
        Err(Error::new(Code::InsufficientPrivilege, format!("must be owner of table \"{}\"", self.name)))
    }

    /// Old-style inheritance: a parent's row triggers don't fire for its children.
    fn inherits(&self) -> bool {
        let form = self.form();
        let child = !form.relispartition && relation::has_parent(self.oid());
        let parent = form.relkind as u8 == pg_sys::RELKIND_RELATION && relation::with_descendants(self.oid()).len() > 1;
        child || parent
    }

    /// Every table of the partition tree below, this one included.
    fn with_partitions(&self) -> Vec<Oid> {
        if self.form().relkind as u8 != pg_sys::RELKIND_PARTITIONED_TABLE {
            return vec![self.oid()];
        }
        relation::with_descendants(self.oid())
    }

    /// The guard that the table has.
    fn guard(&self) -> Result<Option<Definition>, Error> {
        // SAFETY: the relation is open; its trigger descriptor has `numtriggers` entries with
        // NUL-terminated names.
        unsafe {
            let triggers = (*self.rel).trigdesc;
            if triggers.is_null() {
                return Ok(None);
            }
            for i in 0..(*triggers).numtriggers as usize {
                let trigger = (*triggers).triggers.add(i);
                if std::ffi::CStr::from_ptr((*trigger).tgname).to_bytes() == TRUNCATE_TRIGGER.as_bytes() {
                    return resolve::of_trigger(self.rel, trigger).map(|guard| Some(guard.definition.clone()));
                }
            }
            Ok(None)
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by `open`; the lock stays.
            unsafe { pg_sys::relation_close(self.rel, pg_sys::NoLock as i32) };
        }
    }
}

unsafe fn owns(relation: Oid, role: Oid) -> bool {
    // SAFETY: a catalog look-up.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::pg_class_ownercheck(relation, role);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, role);
    }
}

/// `protect(relation, namespace, key, key_columns, token_column, present_column, fence, on_missing,
/// mode, level, coordinator)`
pub fn protect(args: &Args) -> Result<Answer<'static>, Error> {
    let relation = args.oid(0).ok_or_else(|| Error::null("relation"))?;
    let definition = declared(args)?;
    let namespace = namespace::require(&definition.namespace)?;
    // It must not be dropped until the triggers that name it are there for all to see.
    Tag::namespace(namespace.id).lock(Mode::Reference);
    let namespace = namespace::require(&definition.namespace)?;
    let target = Target::open(relation)?;
    target.require_guardable()?;
    target.require_owner()?;
    namespace::require_privilege(&namespace, &[Privilege::Administer])?;
    if target.inherits() {
        return Err(Error::new(Code::WrongObjectType, format!("cannot guard \"{}\"", target.name))
            .detail("It takes part in table inheritance, where a parent's triggers don't fire for its children."));
    }
    if target.guard()?.is_some() {
        return Err(Error::new(Code::DuplicateObject, format!("table \"{}\" is already guarded", target.name))
            .hint("Remove its guard first: SELECT fencing.unprotect('table')."));
    }
    if definition.statement_level {
        require_plain(&target, &definition)?;
    }
    let tables = target.with_partitions();
    for table in &tables {
        let table = Target::open(*table)?;
        // SAFETY: the relation is open.
        let guard = unsafe { resolve::resolve(table.rel, definition.clone())? };
        check_inline_column(&table, &guard)?;
    }
    Ok(Answer::Execute(create_triggers(&target, &tables, &definition)?, extension::oids().owner))
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

/// What statement triggers alone can guard: they don't see rows, nor writes through a parent.
fn require_plain(target: &Target, definition: &Definition) -> Result<(), Error> {
    let form = target.form();
    if form.relkind as u8 != pg_sys::RELKIND_RELATION || form.relispartition {
        return Err(Error::new(Code::WrongObjectType, format!("cannot guard \"{}\" by statement", target.name))
            .detail(
                "Only a plain table, which is no partition and has none, can be guarded with level => 'statement'.",
            ));
    }
    let columns = definition.token_column.is_some() || definition.present_column.is_some();
    if columns || !matches!(definition.key, KeySource::Fixed(_)) {
        return Err(Error::new(Code::InvalidParameter, "level => 'statement' can't be combined with columns")
            .detail("Statement triggers see no rows: such a guard needs a key, and neither key_columns nor token_column nor present_column."));
    }
    Ok(())
}

/// The inline column is write-only: nothing in it may come from anywhere but the statement itself.
fn check_inline_column(table: &Target, guard: &Guard) -> Result<(), Error> {
    let Some(name) = &guard.definition.present_column else { return Ok(()) };
    let refuse = |what: &str, hint: &str| {
        Err(Error::new(Code::InvalidColumnDefinition, format!("column \"{name}\" of table \"{}\" {what}", table.name))
            .detail("The inline column presents a token and is always stored as NULL.")
            .hint(hint))
    };
    if guard.present_has_default {
        return refuse("has a default", "Drop the default.");
    }
    // SAFETY: the relation is open.
    if unsafe { relation::column(table.rel, name)? }.is_not_null {
        return refuse("is declared NOT NULL", "Drop NOT NULL.");
    }
    if table.form().relkind as u8 == pg_sys::RELKIND_RELATION && has_values(table, guard.present_column) {
        return Err(Error::new(
            Code::CheckViolation,
            format!("column \"{name}\" of table \"{}\" has stored values", table.name),
        )
        .detail("What can be read back from a row must not present anything.")
        .hint("Set the column to NULL in every row first."));
    }
    Ok(())
}

/// Whether any row has a value in that column; reads the table once, whatever row security says.
fn has_values(table: &Target, column: i32) -> bool {
    // SAFETY: the relation is open and locked against writers; the slot is the scan's own.
    unsafe {
        let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot());
        let slot = pg_sys::table_slot_create(table.rel, std::ptr::null_mut());
        let scan = pg_sys::table_beginscan(table.rel, snapshot, 0, std::ptr::null_mut());
        let mut found = false;
        while !found && pg_sys::table_scan_getnextslot(scan, pg_sys::ScanDirection::ForwardScanDirection, slot) {
            pg_sys::check_for_interrupts!();
            pg_sys::slot_getsomeattrs_int(slot, column);
            found = !*(*slot).tts_isnull.add(column as usize - 1);
        }
        pg_sys::table_endscan(scan);
        pg_sys::ExecDropSingleTupleTableSlot(slot);
        pg_sys::UnregisterSnapshot(snapshot);
        found
    }
}

fn create_triggers(target: &Target, tables: &[Oid], definition: &Definition) -> Result<String, Error> {
    let arguments: Vec<_> = definition.arguments().iter().map(|a| quote_literal(a)).collect();
    let arguments = arguments.join(", ");
    let create = |table: &str, name: &str, events: &str, each: &str, function: &str| {
        let name = quote_identifier(name);
        format!(
            "CREATE TRIGGER {name} BEFORE {events} ON {table} FOR EACH {each} EXECUTE FUNCTION fencing.{function}({arguments});\n\
             ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name};\n"
        )
    };
    let table = target.quoted.as_str();
    let mut sql = String::new();
    if !definition.statement_level {
        sql += &create(table, ROW_TRIGGER, "INSERT OR UPDATE OR DELETE", "ROW", "guard_row");
    }
    for table in tables {
        let table = Target::open(*table)?;
        sql += &create(&table.quoted, TRUNCATE_TRIGGER, "TRUNCATE", "STATEMENT", "guard_truncate");
        if matches!(definition.key, KeySource::Fixed(_)) {
            sql +=
                &create(&table.quoted, STATEMENT_TRIGGER, "INSERT OR UPDATE OR DELETE", "STATEMENT", "guard_statement");
        }
    }
    Ok(sql)
}

/// `unprotect(relation)`
pub fn unprotect(args: &Args) -> Result<Answer<'static>, Error> {
    let relation = args.oid(0).ok_or_else(|| Error::null("relation"))?;
    let target = Target::open(relation)?;
    target.require_owner()?;
    let Some(definition) = target.guard()? else {
        return Err(Error::new(Code::UndefinedObject, format!("table \"{}\" is not guarded", target.name))
            .hint("SELECT * FROM fencing.guards lists the guarded tables."));
    };
    if let Some(namespace) = namespace::by_name(&definition.namespace) {
        namespace::require_privilege(&namespace, &[Privilege::Administer])?;
    }
    let mut sql = format!("DROP TRIGGER IF EXISTS {} ON {};\n", quote_identifier(ROW_TRIGGER), target.quoted);
    for table in target.with_partitions() {
        let table = Target::open(table)?;
        for trigger in [STATEMENT_TRIGGER, TRUNCATE_TRIGGER] {
            sql += &format!("DROP TRIGGER IF EXISTS {} ON {};\n", quote_identifier(trigger), table.quoted);
        }
    }
    Ok(Answer::Execute(sql, extension::oids().owner))
}
