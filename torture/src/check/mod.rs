//! The checker: what clients recorded and what the tables say, held against what the fence promises. Pure
//! functions.

pub mod evidence;
pub mod facts;
pub mod linear;
pub mod terms;
pub mod writes;

use crate::history::Event;
use crate::last::Last;
use facts::Facts;
use terms::Terms;

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A write under an older term came after one of a newer.
    StaleWrite,
    /// A write was committed after its successor was known.
    LateWrite,
    /// A write was committed after its term had been released, revoked, voided or had run out.
    EndedWrite,
    /// A write was accepted under no term of its lease, or is stamped with another one.
    ForeignWrite,
    /// A transaction wrote under a term that its snapshot is older than.
    OldSnapshot,
    /// A holder wrote over what it had not seen.
    LostUpdate,
    /// A write that its client was told is committed is not there.
    LostWrite,
    /// A row that nobody wrote, or whose writer was told that it isn't there.
    Phantom,
    /// A row's counter doesn't agree with its writes.
    Miscounted,
    /// A token was granted twice.
    DuplicateTerm,
    /// A later term has a lower token.
    ReorderedTerms,
    /// A term was granted while another was current.
    TwoCurrent,
    /// A term that a client was told of is not there.
    LostTerm,
    /// A term is there that nobody asked for.
    PhantomTerm,
    /// A term was renewed after its end.
    Resurrected,
    /// Refused for a reason that the history knows nothing of.
    NoEvidence,
    /// An error that has no place here.
    Unexpected,
    /// A lease's answers fit no order of its operations.
    NotLinearizable,
}

/// A violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What kind.
    pub fault: Fault,
    /// What exactly.
    pub text: String,
}

/// Collects violations.
#[derive(Debug, Default)]
pub struct Violations {
    /// All of them.
    pub all: Vec<Violation>,
    /// Operations for which an order was looked for, and found or not.
    pub ordered: u64,
}

impl Violations {
    /// Adds one.
    pub fn add(&mut self, fault: Fault, text: String) {
        self.all.push(Violation { fault, text });
    }
}

/// Everything that is wrong.
pub fn check(histories: &[Vec<Event>], last: &Last) -> Vec<Violation> {
    let facts = Facts::of(histories);
    check_facts(&facts, last).all
}

/// The same, of a history that has been put together.
pub fn check_facts(facts: &Facts, last: &Last) -> Violations {
    let mut found = Violations::default();
    let terms = Terms::of(facts, last, &mut found);
    terms::check(facts, last, &terms, &mut found);
    writes::check(facts, last, &terms, &mut found);
    evidence::check(facts, &terms, &mut found);
    linear::check(facts, &terms, &mut found);
    found
}
