//! What a DDL command did, as an event trigger is told.

use super::text;
use pgrx::pg_sys::{self, AlterTableType, CollectedCommandType, Datum, NodeTag, ObjectType, Oid};
use std::ffi::{CStr, c_char};

/// A command, as far as guards care.
pub enum Command {
    /// A table was made, or a table's parent changed: by PARTITION OF, INHERITS, ATTACH, DETACH.
    Tree {
        /// The table; of a partition that comes or goes, its parent.
        table: Oid,
        /// Parents that it inherits from no more.
        left: Vec<Oid>,
    },
    /// A column has another name.
    ColumnRenamed {
        /// Its table.
        table: Oid,
        /// Its name before.
        from: String,
        /// Its name now.
        to: String,
    },
    /// A table has another name or schema.
    TableMoved(Oid),
    /// A schema has another name.
    SchemaRenamed(Oid),
    /// A table has another owner.
    Owner(Oid),
    /// A table's columns, triggers, rules or storage were changed.
    Altered(Oid),
    /// A trigger was made or renamed, by its oid.
    Trigger(Oid),
    /// A rule was made for a table.
    Rule(Oid),
    /// Nothing of this.
    Other,
}

/// Whether this is a command that the event trigger which runs was told of. A `pg_ddl_command` is a
/// mere pointer, and a cursor may keep it for longer than what it points to; raises 39P03 where no
/// event trigger runs.
pub fn is_at_hand(command: Datum) -> bool {
    let sql = c"SELECT d.command FROM pg_catalog.pg_event_trigger_ddl_commands() AS d";
    // SAFETY: SPI calls in their order, a constant statement; an error in between ends in an abort,
    // which closes SPI. The table has as many rows as it says.
    unsafe {
        pg_sys::SPI_connect();
        pg_sys::SPI_execute(sql.as_ptr(), true, 0);
        let table = pg_sys::SPI_tuptable;
        let found = (0..pg_sys::SPI_processed as usize).any(|row| {
            let mut null = false;
            let value = pg_sys::SPI_getbinval(*(*table).vals.add(row), (*table).tupdesc, 1, &mut null);
            !null && value.value() == command.value()
        });
        pg_sys::SPI_finish();
        found
    }
}

/// Reads a `pg_ddl_command`.
///
/// # Safety
/// `command` must be one that [`is_at_hand`].
pub unsafe fn read(command: Datum) -> Command {
    // SAFETY: the caller's promise; which member of the union is in use, the type says.
    unsafe {
        let command = &*command.cast_mut_ptr::<pg_sys::CollectedCommand>();
        match command.type_ {
            CollectedCommandType::SCT_Simple => simple(command.d.simple.address, command.parsetree),
            CollectedCommandType::SCT_AlterTable => {
                let (table, subcommands) = (command.d.alterTable.objectId, command.d.alterTable.subcmds);
                altered(table, subcommands)
            }
            _ => Command::Other,
        }
    }
}

unsafe fn simple(address: pg_sys::ObjectAddress, parsetree: *mut pg_sys::Node) -> Command {
    if parsetree.is_null() {
        return Command::Other;
    }
    // SAFETY: the caller's: a parse tree, whose tag says what it is.
    match unsafe { (*parsetree).type_ } {
        NodeTag::T_CreateStmt | NodeTag::T_CreateForeignTableStmt => {
            Command::Tree { table: address.objectId, left: Vec::new() }
        }
        NodeTag::T_CreateTrigStmt => Command::Trigger(address.objectId),
        // SAFETY: as above; by the names as the statement resolved them.
        NodeTag::T_RuleStmt => unsafe {
            let table = (*parsetree.cast::<pg_sys::RuleStmt>()).relation;
            let missing_ok = pg_sys::RVROption::RVR_MISSING_OK;
            let no_lock = pg_sys::NoLock as i32;
            Command::Rule(pg_sys::RangeVarGetRelidExtended(table, no_lock, missing_ok, None, std::ptr::null_mut()))
        },
        NodeTag::T_AlterObjectSchemaStmt if address.classId == pg_sys::RelationRelationId => {
            Command::TableMoved(address.objectId)
        }
        // SAFETY: as above.
        NodeTag::T_RenameStmt => unsafe { renamed(address, &*parsetree.cast::<pg_sys::RenameStmt>()) },
        _ => Command::Other,
    }
}

unsafe fn renamed(address: pg_sys::ObjectAddress, statement: &pg_sys::RenameStmt) -> Command {
    let table = address.objectId;
    match statement.renameType {
        ObjectType::OBJECT_COLUMN if address.classId == pg_sys::RelationRelationId => {
            // SAFETY: the caller's: both names are NUL-terminated.
            let (from, to) = unsafe { (string(statement.subname), string(statement.newname)) };
            Command::ColumnRenamed { table, from, to }
        }
        ObjectType::OBJECT_TABLE => Command::TableMoved(table),
        ObjectType::OBJECT_SCHEMA => Command::SchemaRenamed(address.objectId),
        ObjectType::OBJECT_TRIGGER => Command::Trigger(address.objectId),
        _ => Command::Other,
    }
}

unsafe fn altered(table: Oid, subcommands: *mut pg_sys::List) -> Command {
    use AlterTableType as At;
    // SAFETY: the caller's: a list of subcommands, each with its parse tree.
    let kinds = unsafe {
        let count = subcommands.as_ref().map_or(0, |list| list.length as usize);
        (0..count).map(|i| {
            let subcommand = (*(*subcommands).elements.add(i)).ptr_value.cast::<pg_sys::CollectedATSubcmd>();
            let kind = (*(*subcommand).parsetree.cast::<pg_sys::AlterTableCmd>()).subtype;
            (kind, (*subcommand).address.objectId)
        })
    };
    let (kinds, addresses): (Vec<_>, Vec<_>) = kinds.unzip();
    const TREE: [At::Type; 5] = [
        At::AT_AttachPartition,
        At::AT_DetachPartition,
        At::AT_DetachPartitionFinalize,
        At::AT_AddInherit,
        At::AT_DropInherit,
    ];
    // A guard's own triggers are enabled so one by one, also while a dump is restored: half done,
    // and no reason to look.
    let harmless = |kind: &At::Type| *kind == At::AT_EnableAlwaysTrig;
    if kinds.iter().any(|kind| TREE.contains(kind)) {
        // Its address is the parent's.
        let left = kinds.iter().zip(addresses).filter(|(kind, _)| **kind == At::AT_DropInherit);
        Command::Tree { table, left: left.map(|(_, parent)| parent).collect() }
    } else if kinds.contains(&At::AT_ChangeOwner) {
        Command::Owner(table)
    } else if kinds.iter().all(harmless) {
        Command::Other
    } else {
        Command::Altered(table)
    }
}

unsafe fn string(text: *const c_char) -> String {
    // SAFETY: the caller's: NUL-terminated.
    text::from_server(unsafe { CStr::from_ptr(text) }.to_bytes())
}
