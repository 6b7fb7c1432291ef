//! Remote destinations: may a write under a token of a coordinator elsewhere pass, and which epochs of
//! it may be installed?
//!
//! Nobody here knows who holds a lease there. What a destination knows is the highest token that it has
//! accepted for each: an older one is stale, a newer one advances it. A token is compared within one
//! epoch alone, which a person installs.

use crate::admission::{self, MissingRule};
use crate::error::{Code, Error};
use crate::name;
use crate::token::{MAX_EPOCH, Token};

/// What issues the tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Another database with this extension.
    Fencing,
    /// etcd: a revision.
    Etcd,
    /// Kubernetes: a Lease.
    Kubernetes,
    /// ZooKeeper: a zxid.
    Zookeeper,
    /// Anything else that issues an ordered number.
    Other,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Fencing, Kind::Etcd, Kind::Kubernetes, Kind::Zookeeper, Kind::Other];

    /// As it is passed and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Fencing => "fencing",
            Kind::Etcd => "etcd",
            Kind::Kubernetes => "kubernetes",
            Kind::Zookeeper => "zookeeper",
            Kind::Other => "other",
        }
    }

    /// Reads what [`Kind::as_str`] wrote, or 22023.
    pub fn parse(text: &str) -> Result<Kind, Error> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            Error::new(Code::InvalidParameter, format!("unknown kind of coordinator \"{text}\""))
                .detail("A coordinator's kind is fencing, etcd, kubernetes, zookeeper or other.")
        })
    }
}

/// A coordinator's name: as a namespace is called.
pub fn check_name(text: &str) -> Result<(), Error> {
    name::check_namespace(text).map_err(|error| Error {
        message: format!("invalid coordinator name \"{text}\""),
        detail: error.detail.map(|detail| detail.replace("A namespace's name", "A coordinator's name")),
        ..error
    })
}

/// Longest name of a namespace of another coordinator, in bytes.
pub const MAX_NAMESPACE: usize = 512;

/// A namespace of a coordinator elsewhere: its own affair, but not empty and not endless.
pub fn check_namespace(namespace: &str) -> Result<(), Error> {
    if (1..=MAX_NAMESPACE).contains(&namespace.len()) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidParameter, format!("invalid namespace of {} bytes", namespace.len()))
        .detail(format!("The namespace of a coordinator elsewhere has 1 to {MAX_NAMESPACE} bytes.")))
}

/// What stands here for a coordinator elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// This epoch is installed.
    Open(i64),
    /// None is.
    NoEpoch,
    /// This one was installed with two identities: nobody can tell which of them a token is of.
    Conflict(i64),
    /// The destination was restored, cloned or promoted since: it may have forgotten what it accepted.
    LineageChanged,
}

/// What is presented, seen from one lease of one coordinator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presented {
    /// No token at all.
    Nothing,
    /// Tokens, none of them for this lease; one of them, to name in the error.
    Other(i64),
    /// One for a lease of that name, which was another's.
    Taken(i64),
    /// Two tokens for this lease.
    Contradiction(i64, i64),
    /// One number for this lease.
    One(i64),
}

/// The verdict on a write.
pub type Verdict = admission::Verdict<Rejection>;

/// Why a write is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// LF006
    LineageChanged,
    /// LF007, of that epoch
    Conflict(i64),
    /// LF002
    Missing,
    /// LF013, of a bigint that is no token
    Malformed(i64),
    /// LF013, of two tokens for one lease
    Contradiction(i64, i64),
    /// LF013, of a token that was presented by name and is another's
    Taken(i64),
    /// LF004
    Unknown(i64),
    /// LF005
    Epoch {
        /// The presented token.
        presented: Token,
        /// The installed epoch, if one is.
        installed: Option<i64>,
    },
    /// LF001
    Stale {
        /// The presented token.
        presented: Token,
        /// The highest accepted one.
        highest: Token,
    },
    /// 40001
    SnapshotPredatesTakeover(Token),
}

/// What can be said without looking at the fence: the token to compare with it, or the verdict.
///
/// `accepted` is what this transaction wrote under before: it goes on under no newer one, since what it
/// has read and written is the older term's.
pub fn claim(
    source: Source,
    presented: Presented,
    on_missing: MissingRule,
    accepted: Option<Token>,
) -> Result<Token, Verdict> {
    use Rejection as R;
    let reject = |why| Err(Verdict::Rejected(why));
    match source {
        Source::LineageChanged => return reject(R::LineageChanged),
        Source::Conflict(epoch) => return reject(R::Conflict(epoch)),
        Source::Open(_) | Source::NoEpoch => {}
    }
    let value = match presented {
        Presented::Nothing if on_missing == MissingRule::Admit => return Err(Verdict::Admitted),
        Presented::Nothing => return reject(R::Missing),
        Presented::Other(value) => return reject(R::Unknown(value)),
        Presented::Taken(value) => return reject(R::Taken(value)),
        Presented::Contradiction(a, b) => return reject(R::Contradiction(a, b)),
        Presented::One(value) => value,
    };
    let Some(token) = Token::from_bigint(value) else { return reject(R::Malformed(value)) };
    let installed = match source {
        Source::Open(epoch) => Some(epoch),
        _ => None,
    };
    if installed != Some(token.epoch()) {
        return reject(R::Epoch { presented: token, installed });
    }
    match accepted {
        Some(accepted) if accepted < token => reject(R::Contradiction(accepted.to_bigint(), value)),
        _ => Ok(token),
    }
}

/// How a write under a token holds the fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// With others under the same token.
    Share,
    /// Alone, since it advances what is stored.
    Advance,
}

/// Compares a token with what is stored of its lease; `floor` stands for what was forgotten, and so
/// counts where nothing is stored.
///
/// What is stored and committed never falls: a rejection stands, also where nothing was locked.
pub fn compare(token: Token, stored: Option<Token>, floor: Option<Token>) -> Result<Hold, Rejection> {
    match stored.or(floor) {
        Some(highest) if token < highest => Err(Rejection::Stale { presented: token, highest }),
        _ if stored == Some(token) => Ok(Hold::Share),
        _ => Ok(Hold::Advance),
    }
}

/// What a stale holder would be told, for those who prove that it is.
pub fn stale(source: Source, stored: Option<Token>, floor: Option<Token>) -> Rejection {
    let (epoch, installed) = match source {
        Source::LineageChanged => return Rejection::LineageChanged,
        Source::Conflict(epoch) => return Rejection::Conflict(epoch),
        Source::NoEpoch => (1, None),
        Source::Open(epoch) => (epoch, Some(epoch)),
    };
    let highest = stored.or(floor).filter(|token| token.epoch() == epoch).or_else(|| Token::new(epoch, 2).ok());
    let Some(highest) = highest else { return Rejection::Missing };
    let presented = Token::new(highest.epoch(), highest.seq() - 1).unwrap_or(highest);
    match installed {
        Some(_) => Rejection::Stale { presented, highest },
        None => Rejection::Epoch { presented, installed },
    }
}

/// What was installed of a coordinator before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Installed {
    /// The epoch.
    pub epoch: i64,
    /// Its identity.
    pub identity: [u8; 16],
    /// What stands here for the coordinator now.
    pub source: Source,
}

/// What installing an epoch does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Installation {
    /// It is the coordinator's epoch from now on.
    New,
    /// It is already.
    Same,
    /// It has another identity than the one that is installed: the destination is closed.
    Conflict,
}

/// Whether an epoch may be installed. Newer than every one before, it always may. The same again changes
/// nothing, so it opens nothing either: what was accepted in it may be forgotten (`LF006`).
pub fn install(earlier: Option<Installed>, epoch: i64, identity: [u8; 16]) -> Result<Installation, Error> {
    if epoch < 1 {
        return Err(Error::new(Code::InvalidParameter, "argument \"epoch\" must be positive"));
    }
    if epoch > MAX_EPOCH {
        return Err(Error::new(Code::TermsExhausted, format!("epoch {epoch} is out of range"))
            .detail(format!("The highest epoch of a token is {MAX_EPOCH}."))
            .hint("Install a lower number. Where none is left, register the coordinator under another name."));
    }
    let Some(earlier) = earlier.filter(|earlier| epoch <= earlier.epoch) else { return Ok(Installation::New) };
    let lower = |detail: String| {
        Err(Error::new(Code::EpochMismatch, format!("cannot install epoch {epoch}"))
            .detail(detail)
            .hint("Only a newer epoch can be installed: the tokens of an older one are void for good."))
    };
    if epoch < earlier.epoch {
        return lower(format!("Epoch {} was installed before.", earlier.epoch));
    }
    match earlier.source {
        Source::NoEpoch => lower(format!("Epoch {epoch} was installed before the coordinator was dropped.")),
        _ if identity != earlier.identity => Ok(Installation::Conflict),
        Source::Conflict(_) => Ok(Installation::Conflict),
        Source::Open(_) => Ok(Installation::Same),
        Source::LineageChanged => Err(Error::new(Code::LineageChanged, format!("cannot install epoch {epoch} again"))
            .detail("This destination may have forgotten which tokens of that epoch it has accepted.")
            .hint("Open a new epoch at the coordinator and install that, or choose a higher number where a person chooses it.")),
    }
}

/// What an error is about.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The coordinator's name.
    pub coordinator: &'a str,
    /// The lease: "namespace/key".
    pub lease: &'a str,
    /// What was to be written, if it was a table.
    pub relation: Option<&'a str>,
    /// In what this server differs from the one that the epoch was installed on: a sentence.
    pub differences: &'a str,
}

impl Rejection {
    /// The error that a client sees.
    pub fn error(self, about: Subject) -> Error {
        let Subject { coordinator, lease, relation, differences } = about;
        let target = relation.map_or_else(|| format!("lease \"{lease}\""), |name| format!("table \"{name}\""));
        let lease = format!("Lease \"{lease}\" of coordinator \"{coordinator}\"");
        let named = |token: Token| format!("token {token} ({})", token.to_bigint());
        let by_name = "Present it for this lease: SELECT fencing.present(namespace, key, token) in the same transaction, or assign it to the guard's inline column if it has one.";
        match self {
            Rejection::LineageChanged => Error::new(Code::LineageChanged, "destination's lineage has changed")
                .detail(format!("The epoch of coordinator \"{coordinator}\" was installed on another server, or before this one was restored. {differences}").trim_end().to_owned())
                .hint("Once a new epoch is open at the coordinator, install it: SELECT fencing.install_epoch(coordinator, epoch, identity)."),
            Rejection::Conflict(epoch) => {
                Error::new(Code::CoordinatorClosed, format!("destination is closed to coordinator \"{coordinator}\""))
                    .detail(format!("Epoch {epoch} was installed with two identities: its tokens are not of one order."))
                    .hint("Install a newer epoch: SELECT fencing.install_epoch(coordinator, epoch, identity).")
            }
            Rejection::Missing => Error::new(Code::MissingToken, format!("no fencing token presented for {target}"))
                .detail(format!("{lease} guards it."))
                .hint(by_name),
            Rejection::Malformed(value) => {
                Error::new(Code::InvalidPresentation, format!("{value} is not a fencing token"))
                    .detail(format!("{lease}: no epoch and number make that token."))
                    .hint("Make tokens of the installed epoch and the coordinator's number: fencing.make_token(epoch, number).")
            }
            Rejection::Contradiction(a, b) => {
                Error::new(Code::InvalidPresentation, format!("two fencing tokens presented for {target}"))
                    .detail(format!("{lease}: tokens {a} and {b}."))
                    .hint("Present one token for each lease, and write under a newer one in a transaction of its own.")
            }
            Rejection::Taken(value) => admission::taken(&target, &lease, value),
            Rejection::Unknown(value) => Error::new(Code::UnknownTerm, format!("unknown term for {target}"))
                .detail(format!("{lease}: {value} was not presented for it."))
                .hint(by_name),
            Rejection::Epoch { presented, installed } => {
                let newer = installed.is_none_or(|epoch| presented.epoch() > epoch);
                Error::new(Code::EpochMismatch, format!("token of another epoch for {target}"))
                    .detail(match installed {
                        Some(epoch) => format!("{lease}: presented {}, installed epoch {epoch}.", named(presented)),
                        None => format!("{lease}: presented {}, no epoch is installed.", named(presented)),
                    })
                    .hint(if newer {
                        "If the coordinator has opened that epoch, install it here first: SELECT fencing.install_epoch(coordinator, epoch, identity)."
                    } else {
                        "The token belongs to an older epoch and is void. Acquire the lease again."
                    })
            }
            Rejection::Stale { presented, highest } => Error::new(Code::StaleTerm, format!("stale term for {target}"))
                .detail(format!("{lease}: presented {}, highest accepted {}.", named(presented), named(highest))),
            Rejection::SnapshotPredatesTakeover(token) => {
                Error::new(Code::SerializationFailure, "could not serialize access due to takeover of the lease")
                    .detail(format!("{lease}: the snapshot in use was taken before {} was seen here.", named(token)))
                    .hint("Run the transaction again: what it read may be older than the takeover.")
            }
        }
    }
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
