//! Configurations: what may happen in a world, and how often. Each is small enough to be explored to its
//! end.

/// A configuration.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Its name.
    pub name: &'static str,
    /// Whether a client may pause while it holds a lock and has changed nothing that others can see. Whatever
    /// happens then can happen before it takes the lock: the states that are left out differ in nothing.
    pub every_pause: bool,
    /// How many clients there are, each of whom may acquire, write, renew, release, and pause.
    pub clients: usize,
    /// How long a term lasts, in ticks of the clock.
    pub ttl: u8,
    /// The clock's last tick; the first is 1.
    pub last_tick: u8,
    /// Whether the clock jumps, forward and back, by two ticks.
    pub jumps: bool,
    /// How often a number may be drawn.
    pub draws: u8,
    /// `on_expiry => 'accept_until_superseded'`
    pub accepts_expired: bool,
    /// Whether a released lease's row disappears.
    pub ephemeral: bool,
    /// Clients renew.
    pub renew: bool,
    /// Clients release, by itself or with their last write.
    pub release: bool,
    /// The operator revokes: at once, and with a grace of one tick.
    pub revoke: bool,
    /// Transactions may have one snapshot (REPEATABLE READ).
    pub snapshots: bool,
    /// Transactions may write in a savepoint and roll it back.
    pub savepoints: bool,
    /// Transactions may be prepared.
    pub two_phase: bool,
    /// `acquire` may run in a transaction block.
    pub in_block: bool,
    /// Clients without a token may make one up.
    pub guesses: bool,
    /// How often servers crash.
    pub crashes: u8,
    /// How often an epoch is opened, and whether all at once, step by step, or either.
    pub epochs: u8,
    /// See [`Config::epochs`].
    pub transition: Transition,
    /// Whether two servers may open an epoch of the same number.
    pub same_minute: bool,
    /// How often a copy takes the server's place or its part, and which copies there are.
    pub copies: u8,
    /// See [`Config::copies`].
    pub kinds: &'static [Copied],
}

/// How epochs are opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "said by their names")]
pub enum Transition {
    AtOnce,
    StepByStep,
    Either,
}

/// Kinds of copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copied {
    /// A base backup takes the server's place, restored to its moment.
    Backup,
    /// A standby that lags is promoted; the old primary is gone.
    Standby,
    /// A block-level snapshot of the running server is put back into its place.
    Snapshot,
    /// A copy of the data directory is started beside the server, which goes on.
    Clone,
}

/// What all configurations have in common.
pub(crate) const BASE: Config = Config {
    name: "",
    every_pause: false,
    clients: 2,
    ttl: 1,
    last_tick: 3,
    jumps: false,
    draws: 2,
    accepts_expired: false,
    ephemeral: false,
    renew: false,
    release: false,
    revoke: false,
    snapshots: false,
    savepoints: false,
    two_phase: false,
    in_block: false,
    guesses: false,
    crashes: 0,
    epochs: 0,
    transition: Transition::AtOnce,
    same_minute: false,
    copies: 0,
    kinds: &[],
};

/// A lease's life under a clock that jumps, with renewals, releases and revocations.
pub const LIFE: Config =
    Config { name: "life", ttl: 2, last_tick: 6, jumps: true, renew: true, release: true, revoke: true, ..BASE };

/// A crash, which loses what is not on disk: renewals, releases, numbers, answers.
pub const CRASH: Config = Config {
    name: "crash",
    ttl: 2,
    last_tick: 5,
    renew: true,
    release: true,
    in_block: true,
    guesses: true,
    crashes: 1,
    revoke: true,
    draws: 2,
    ..BASE
};

/// What transactions can do: savepoints, old snapshots, a release with the last write.
pub const TRANSACTIONS: Config = Config {
    name: "transactions",
    draws: 3,
    last_tick: 2,
    accepts_expired: true,
    release: true,
    snapshots: true,
    savepoints: true,
    in_block: true,
    clients: 3,
    guesses: true,
    ..BASE
};

/// Transactions that are prepared, and outlive a crash.
pub const TWO_PHASE: Config = Config {
    name: "two-phase",
    draws: 3,
    accepts_expired: true,
    release: true,
    two_phase: true,
    crashes: 1,
    clients: 3,
    ..BASE
};

/// Three clients, of whom two may be stale at once; a released lease leaves no row.
pub const THREE: Config =
    Config { name: "three clients", clients: 3, release: true, ephemeral: true, draws: 4, revoke: true, ..BASE };

/// Two clients who may pause between any two steps whatever.
pub const PAUSES: Config =
    Config { name: "every pause", every_pause: true, release: true, draws: 3, clients: 3, ..BASE };

/// Epochs, opened at once or in seven steps, with writers in flight and a crash between.
pub const EPOCHS: Config = Config {
    name: "epochs",
    accepts_expired: true,
    two_phase: true,
    last_tick: 3,
    crashes: 1,
    epochs: 2,
    transition: Transition::Either,
    draws: 3,
    ..BASE
};

/// A backup is restored, a standby that lags promoted, a snapshot put back.
pub const COPIES: Config = Config {
    name: "copies",
    draws: 3,
    accepts_expired: true,
    epochs: 1,
    transition: Transition::Either,
    copies: 1,
    kinds: &[Copied::Backup, Copied::Standby, Copied::Snapshot],
    ..BASE
};

/// A clone runs beside its original; both open epochs, and clients go from one to the other.
pub const CLONE: Config = Config {
    name: "clone",
    draws: 3,
    last_tick: 2,
    epochs: 2,
    same_minute: true,
    copies: 1,
    kinds: &[Copied::Clone],
    ..BASE
};

/// Those that a test explores.
pub const ALL: [Config; 9] = [LIFE, CRASH, TRANSACTIONS, TWO_PHASE, THREE, PAUSES, EPOCHS, COPIES, CLONE];

impl Config {
    /// The same for a tick longer.
    pub fn deeper(self) -> Config {
        Config { last_tick: self.last_tick + 1, ..self }
    }
}
