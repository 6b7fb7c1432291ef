//! Lineage: which server an epoch was opened on, among all the copies of it that there may be.

use std::fmt;

/// A server, as a copy of it looks different.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lineage {
    /// The cluster's system identifier.
    pub system_identifier: u64,
    /// The timeline of the WAL that is being written.
    pub timeline: u32,
    /// The database's oid.
    pub database: u32,
    /// Inode and time of birth of the data directory's `PG_VERSION`, which a copy of the files has others
    /// of; after a slash the oid of the table of epochs, which a restored dump has another of; after another
    /// the same of the database's own `PG_VERSION`: one made again under its old number has others.
    pub fingerprint: String,
    /// The position of the WAL that is being written. It identifies nothing, but on one server it
    /// never goes back.
    pub lsn: u64,
}

impl Lineage {
    /// Its parts by name, for people.
    pub fn parts(&self) -> [(&'static str, String); 5] {
        [
            ("system_identifier", self.system_identifier.to_string()),
            ("timeline", self.timeline.to_string()),
            ("database", self.database.to_string()),
            ("fingerprint", self.fingerprint.clone()),
            ("lsn", Lsn(self.lsn).to_string()),
        ]
    }
}

/// In what the running server differs from a recorded one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Difference {
    /// Another cluster: a restored dump, `pg_upgrade`.
    SystemIdentifier,
    /// Recovered to a point in time, or promoted.
    Timeline,
    /// A template copy, be it under the original's number.
    Database,
    /// The data directory was copied.
    Fingerprint,
    /// The extension was created anew, and filled from a dump.
    Extension,
    /// Its WAL ends before where it was written already.
    Rewound,
}

impl Lineage {
    /// The fingerprints of the data directory, of the extension and of the database's own directory.
    fn fingerprints(&self) -> [&str; 3] {
        let mut parts = self.fingerprint.splitn(3, '/');
        [(); 3].map(|()| parts.next().unwrap_or(""))
    }

    /// What tells it from its copies, as one text.
    pub fn identity(&self) -> String {
        let Lineage { system_identifier, timeline, database, fingerprint, .. } = self;
        format!("{system_identifier}/{timeline}/{database}/{fingerprint}")
    }
}

/// Everything in which `actual` can't be the server that was recorded.
pub fn differences(recorded: &Lineage, actual: &Lineage) -> Vec<Difference> {
    let same_cluster = recorded.system_identifier == actual.system_identifier;
    let ([files_then, tables_then, own_then], [files, tables, own]) = (recorded.fingerprints(), actual.fingerprints());
    // Among copied files none is the same, which says nothing more.
    let made_again = same_cluster && files_then == files && own_then != own;
    let checks = [
        (!same_cluster, Difference::SystemIdentifier),
        (recorded.timeline != actual.timeline, Difference::Timeline),
        (recorded.database != actual.database || made_again, Difference::Database),
        (files_then != files, Difference::Fingerprint),
        (tables_then != tables, Difference::Extension),
        // Positions of two clusters' WAL don't compare.
        (same_cluster && actual.lsn < recorded.lsn, Difference::Rewound),
    ];
    checks.into_iter().filter_map(|(differs, what)| differs.then_some(what)).collect()
}

impl Difference {
    /// Its name, in a verdict.
    pub fn name(self) -> &'static str {
        match self {
            Difference::SystemIdentifier => "system identifier",
            Difference::Timeline => "timeline",
            Difference::Database => "database",
            Difference::Fingerprint => "data directory",
            Difference::Extension => "extension",
            Difference::Rewound => "wal position",
        }
    }
}

/// What differs, recorded against actual, for a DETAIL: one sentence. Empty where nothing does.
pub fn describe(differences: &[Difference], recorded: &Lineage, actual: &Lineage) -> String {
    let ([files_then, tables_then, own_then], [files, tables, own]) = (recorded.fingerprints(), actual.fingerprints());
    let one = |what: &Difference| {
        let (then, now): (&dyn fmt::Display, &dyn fmt::Display) = match what {
            Difference::SystemIdentifier => (&recorded.system_identifier, &actual.system_identifier),
            Difference::Timeline => (&recorded.timeline, &actual.timeline),
            Difference::Database if recorded.database == actual.database => (&own_then, &own),
            Difference::Database => (&recorded.database, &actual.database),
            Difference::Fingerprint => (&files_then, &files),
            Difference::Extension => (&tables_then, &tables),
            Difference::Rewound => (&Lsn(recorded.lsn), &Lsn(actual.lsn)),
        };
        format!("{} {then}, now {now}", what.name())
    };
    let all: Vec<_> = differences.iter().map(one).collect();
    if all.is_empty() { String::new() } else { format!("Recorded with the epoch: {}.", all.join("; ")) }
}

/// What keeps a coordinator's history from being known to be whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// No epoch was ever opened.
    NoEpoch,
    /// It is not the server that opened the epoch.
    Differs(Difference),
    /// The server started uncleanly, and nothing has been granted since.
    UncleanStart,
    /// The sequence would draw what was granted before.
    SequenceBehind,
    /// The sequence draws otherwise than one by one: it was altered.
    SequenceAltered,
    /// A token was presented that is above everything drawn.
    HistoryLost,
    /// An epoch transition has begun.
    TransitionUnderWay,
}

impl Finding {
    /// Its name, in a verdict.
    pub fn name(self) -> &'static str {
        match self {
            Finding::NoEpoch => "no epoch",
            Finding::Differs(difference) => difference.name(),
            Finding::UncleanStart => "unclean start",
            Finding::SequenceBehind => "sequence behind the terms",
            Finding::SequenceAltered => "sequence altered",
            Finding::HistoryLost => "history lost",
            Finding::TransitionUnderWay => "transition under way",
        }
    }
}

/// All of it in one line: `same`, or what is wrong.
pub fn verdict(findings: &[Finding]) -> String {
    let names: Vec<_> = findings.iter().map(|finding| finding.name()).collect();
    if names.is_empty() { "same".to_owned() } else { names.join(", ") }
}

/// A WAL position as PostgreSQL writes it.
#[derive(Clone, Copy)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn server() -> Lineage {
        Lineage {
            system_identifier: 7_577_000_000_000_000_001,
            timeline: 1,
            database: 16384,
            fingerprint: "131:1764460000000000/16390".to_owned(),
            lsn: 0x1_0000_00A0,
        }
    }

    #[test]
    fn the_same_server_later_is_the_same() {
        let later = Lineage { lsn: u64::MAX, ..server() };
        assert_eq!(differences(&server(), &server()), []);
        assert_eq!(differences(&server(), &later), []);
        assert_eq!(describe(&[], &server(), &later), "");
    }

    #[test]
    fn each_kind_of_copy_differs_in_its_own_way() {
        use Difference as D;
        let is = |actual: Lineage, expected: &[D]| assert_eq!(differences(&server(), &actual), expected);
        is(Lineage { system_identifier: 2, lsn: 1, ..server() }, &[D::SystemIdentifier]);
        is(Lineage { timeline: 2, ..server() }, &[D::Timeline]);
        is(Lineage { database: 16385, ..server() }, &[D::Database]);
        is(Lineage { fingerprint: "132:1764460000000000/16390".to_owned(), ..server() }, &[D::Fingerprint]);
        is(Lineage { fingerprint: "131:1764460000000000/16999".to_owned(), ..server() }, &[D::Extension]);
        let own = |fingerprint: &str| Lineage { fingerprint: fingerprint.to_owned(), ..server() };
        let (first, again) = (own("131:7/16390/140:7"), own("131:7/16390/150:8"));
        assert_eq!(differences(&first, &again), [D::Database]);
        assert_eq!(describe(&[D::Database], &first, &again), "Recorded with the epoch: database 140:7, now 150:8.");
        assert_eq!(differences(&first, &own("132:8/16390/150:8")), [D::Fingerprint]);
        is(Lineage { lsn: 0x1_0000_009F, ..server() }, &[D::Rewound]);
        is(Lineage { timeline: 2, lsn: 0, ..server() }, &[D::Timeline, D::Rewound]);
    }

    #[test]
    fn what_differs_is_told_with_both_values() {
        let actual = Lineage { timeline: 2, lsn: 0xFF, ..server() };
        let found = differences(&server(), &actual);
        let told = "Recorded with the epoch: timeline 1, now 2; wal position 1/A0, now 0/FF.";
        assert_eq!(describe(&found, &server(), &actual), told);
    }

    #[test]
    fn a_verdict_lists_what_is_wrong() {
        assert_eq!(verdict(&[]), "same");
        let found = [Finding::Differs(Difference::Timeline), Finding::UncleanStart, Finding::SequenceBehind];
        assert_eq!(verdict(&found), "timeline, unclean start, sequence behind the terms");
    }

    proptest! {
        #[test]
        fn nothing_differs_exactly_where_the_identity_is_the_same(
            a in (0..3u64, 0..3u32, 0..3u32, 0..3u8, 0..9u64), b in (0..3u64, 0..3u32, 0..3u32, 0..3u8, 0..9u64),
        ) {
            let lineage = |l: (u64, u32, u32, u8, u64)| Lineage {
                system_identifier: l.0, timeline: l.1, database: l.2, fingerprint: l.3.to_string(), lsn: l.4,
            };
            let same = (a.0, a.1, a.2, a.3) == (b.0, b.1, b.2, b.3) && b.4 >= a.4;
            prop_assert_eq!(differences(&lineage(a), &lineage(b)).is_empty(), same);
        }
    }
}
