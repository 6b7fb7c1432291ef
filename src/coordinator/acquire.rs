//! `acquire`: one row, whose status says what became of the request.
//!
//! A losing call writes nothing and takes no transaction id. A winning one makes its term current
//! and advances the fence in the same transaction, under the fence's exclusive lock: once it has
//! committed, nothing of an older term can commit any more (G1).

use super::announce::announce;
use super::{binding, require_done, required, required_bytes, waiting};
use crate::epoch::issue;
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{self, Mode, Tag};
use crate::pg::session::Session;
use crate::pg::table::Written;
use crate::pg::value::Value;
use crate::pg::{clock, extension, mutant, role, text, xact};
use crate::store::lease::{Grant, Lease, Leases};
use crate::store::namespace::{self, Namespace, Privilege};
use crate::store::term::Terms;
use crate::store::{LeaseId, epoch, fence, request, term};
use crate::transaction::{self, fences};
use fencing_core::epoch::Coordinator;
use fencing_core::lease::{EndReason, Grantability, Standing, grantability, standing};
use fencing_core::name::Interval;
use fencing_core::time::{Instant, SECOND, Span, trust_for};
use fencing_core::{Code, Error, Token, name};
use pgrx::pg_sys::{Datum, Oid};
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
use std::rc::Rc;

static ACQUIRE_IN_BLOCK: GucSetting<bool> = GucSetting::<bool>::new(false);

/// What a caller who was merely unlucky should wait before asking again.
const SOON: Span = SECOND / 10;
/// How often an attempt starts over that others overtook.
const ATTEMPTS: usize = 8;

/// Defines `fencing.acquire_in_block`.
pub fn define_settings() {
    GucRegistry::define_bool_guc(
        c"fencing.acquire_in_block",
        c"Allows fencing.acquire() inside a transaction block.",
        c"The token is known before it is committed, and the lease's fence is held until the block ends.",
        &ACQUIRE_IN_BLOCK,
        GucContext::Userset,
        GucFlags::default(),
    );
}

pub(super) struct Request {
    namespace: Rc<Namespace>,
    pub lease: LeaseId,
    holder: Vec<u8>,
    asked_ttl: Option<Interval>,
    ttl: Span,
    request_id: Option<Datum>,
    purpose: Option<Vec<u8>>,
    bind_session: bool,
    role: Oid,
    statement_start: Instant,
    /// The configuration that namespace and privilege were checked under.
    version: u64,
    /// Whether it is first in the lease's queue: nobody else who came before it waits.
    pub first: bool,
}

/// What became of one attempt.
pub(super) enum Attempt {
    Granted(Granted),
    Held {
        by: Option<Holder>,
        retry_after: Span,
    },
    CoolingDown {
        retry_after: Span,
    },
    Blocked {
        pids: Vec<i32>,
        /// Whether these are writers, who share the fence.
        writing: bool,
    },
    Closed,
    Over,
    /// Others changed the lease meanwhile.
    Again,
}

/// A lease that can be granted.
struct Grantable {
    /// The open epoch.
    open: i64,
    /// Its row; `None` if it was never granted, or dropped.
    current: Option<Lease>,
    now: Instant,
}

/// Who holds a lease.
pub(super) struct Holder {
    acquired_at: Instant,
    expires_at: Instant,
    label: Vec<u8>,
}

pub(super) struct Granted {
    token: Token,
    acquired_at: Instant,
    expires_at: Instant,
    holder: Vec<u8>,
    length: Span,
}

/// `acquire(namespace, key, holder, ttl, wait, request_id, purpose, bind_session)`
pub fn acquire(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.acquire()");
    let (mut request, wait) = read(args)?;
    require_alone()?;
    if transaction::with(|t| t.fences.holds(&request.lease)) {
        return Err(out_of_place("cannot acquire a lease under whose fence this transaction has written")
            .detail("It holds the fence as a writer; to acquire, it would have to lock itself out.")
            .hint("End the transaction first."));
    }
    let mut outcome = attempts(&request)?;
    if wait > 0 && outcome.may_change() {
        outcome = waiting::wait(&mut request, wait)?;
    }
    Ok(answer(&request, outcome))
}

/// What becomes of the request now.
pub(super) fn attempts(request: &Request) -> Result<Attempt, Error> {
    for _ in 0..ATTEMPTS {
        match attempt(request)? {
            Attempt::Again => {}
            outcome => return Ok(outcome),
        }
    }
    // Others were faster every time.
    Ok(Attempt::Held { by: None, retry_after: SOON })
}

impl Attempt {
    /// Whether time may change it.
    pub(super) fn may_change(&self) -> bool {
        !matches!(self, Attempt::Granted(_) | Attempt::Closed | Attempt::Over)
    }
}

impl Request {
    /// What has changed since it was made: the namespace's policy, and what its caller may do.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        self.version = extension::configuration_version();
        let namespace = namespace::require(&self.namespace.name)?;
        if namespace.id != self.namespace.id {
            return Err(namespace::missing(&namespace.name));
        }
        namespace::require_privilege(&namespace, &[Privilege::Hold])?;
        self.ttl = ttl_in(&namespace, self.asked_ttl)?;
        self.namespace = namespace;
        Ok(())
    }
}

fn ttl_in(namespace: &Namespace, asked: Option<Interval>) -> Result<Span, Error> {
    asked.map_or(Ok(namespace.policy.ttl), |ttl| name::check_ttl("ttl", ttl, namespace.policy.max_ttl))
}

/// The request, and how long it may wait.
fn read(args: &Args) -> Result<(Request, Span), Error> {
    let namespace = required(args, 0, "namespace")?;
    let key = required_bytes(args, 1, "key")?;
    let holder = required_bytes(args, 2, "holder")?;
    let wait = args.interval(4).ok_or_else(|| Error::null("wait"))?;
    let bind_session = args.bool(7).ok_or_else(|| Error::null("bind_session"))?;
    let purpose = args.bytes(6);
    name::check_key(&key)?;
    name::check_label("holder", &holder)?;
    name::check_label("purpose", purpose.as_deref().unwrap_or_default())?;
    let wait = name::check_span("wait", wait)?;
    let version = extension::configuration_version();
    let namespace = namespace::require(&namespace)?;
    namespace::require_privilege(&namespace, &[Privilege::Hold])?;
    let asked_ttl = args.interval(3);
    let request = Request {
        lease: LeaseId::new(namespace.id, &key),
        holder,
        asked_ttl,
        ttl: ttl_in(&namespace, asked_ttl)?,
        namespace,
        request_id: args.raw(5),
        purpose,
        bind_session,
        role: role::asking_user(),
        statement_start: clock::statement_start(),
        first: false,
        version,
    };
    Ok((request, wait))
}

fn out_of_place(message: &str) -> Error {
    Error::new(Code::ActiveTransaction, message)
}

/// A token must not be known before it is committed, and an idle block would hold the fence.
fn require_alone() -> Result<(), Error> {
    if !xact::in_block() {
        xact::commit_immediately();
        return Ok(());
    }
    if !ACQUIRE_IN_BLOCK.get() {
        return Err(out_of_place("fencing.acquire() cannot run inside a transaction block")
            .detail("The token would be known before it is committed, and the block would hold the lease's fence.")
            .hint("Run it by itself, in autocommit mode (a PL/pgSQL block with EXCEPTION counts as a transaction block); or SET fencing.acquire_in_block = on."));
    }
    if xact::uses_one_snapshot() {
        return Err(out_of_place(
            "fencing.acquire() cannot run inside a REPEATABLE READ or SERIALIZABLE transaction block",
        )
        .detail("What the block has read may be older than the takeover.")
        .hint("Run it by itself, in autocommit mode."));
    }
    Ok(())
}

fn attempt(request: &Request) -> Result<Attempt, Error> {
    // A look without locks: whoever can't win leaves no trace.
    if let Err(outcome) = look(request, &Leases::to_read()) {
        return Ok(outcome);
    }
    // Whoever waits came before whoever doesn't.
    if !request.first && Tag::turn(request.lease.hash).requests() > 0 && !mutant::without("turn") {
        return Ok(Attempt::Held { by: None, retry_after: SOON });
    }
    if !lock::try_enter_gate() {
        return Ok(Attempt::Closed);
    }
    let namespace = Tag::namespace(request.lease.namespace);
    let fence = Tag::fence(request.lease.hash);
    if !namespace.try_lock(Mode::Intent) {
        let blockers = namespace.in_the_way_of(Mode::Intent);
        lock::leave_gate();
        return Ok(blocked(blockers, false));
    }
    let outcome = if fence.try_lock(Mode::Exclusive) {
        let outcome = locked(request)?;
        if let Attempt::Granted(_) = outcome {
            return Ok(outcome);
        }
        fence.unlock(Mode::Exclusive);
        outcome
    } else {
        who_has(&fence)
    };
    namespace.unlock(Mode::Intent);
    lock::leave_gate();
    Ok(outcome)
}

/// Another acquirer has the fence exclusively, or writers share it. No acquirer can be prepared: that
/// is whoever drops the lease, and waits for somebody to say so.
fn who_has(fence: &Tag) -> Attempt {
    let alone = fence.in_the_way_of(Mode::Shared);
    if alone.is_empty() {
        return blocked(fence.in_the_way_of(Mode::Exclusive), true);
    }
    if alone.contains(&0) { blocked(alone, false) } else { Attempt::Held { by: None, retry_after: SOON } }
}

/// Whoever was in the way may have gone since.
fn blocked(pids: Vec<i32>, writing: bool) -> Attempt {
    if pids.is_empty() { Attempt::Again } else { Attempt::Blocked { pids, writing } }
}

/// The lease as it is now, if it can be granted; the outcome otherwise.
fn look(request: &Request, leases: &Leases) -> Result<Grantable, Attempt> {
    let Some(Coordinator::Open(open)) = epoch::coordinator() else { return Err(Attempt::Closed) };
    let mut current = leases.read(&request.lease);
    let answered = request.request_id.and_then(|id| request::read(id, request.role, &request.lease));
    if answered.is_some() && !mutant::without("reread_request") {
        // The same request in another session may have been granted between the two reads.
        current = leases.read(&request.lease);
    }
    let now = clock::of_lease(current.as_ref().map(|l| &l.record));
    if let Some(token) = answered {
        return Err(repeated(token, open, current.as_ref(), now));
    }
    let open_or_own =
        if mutant::without("void") { current.as_ref().map_or(open, |l| l.record.token.epoch()) } else { open };
    match grantability(current.as_ref().map(|l| &l.record), &request.namespace.policy, open_or_own, now) {
        Grantability::Held { until } => Err(Attempt::Held { by: current.map(Holder::of), retry_after: until - now }),
        Grantability::CoolingDown { until } => Err(Attempt::CoolingDown { retry_after: until - now }),
        Grantability::Grantable => Ok(Grantable { open, current, now }),
    }
}

impl Holder {
    fn of(lease: Lease) -> Holder {
        let record = &lease.record;
        Holder { acquired_at: record.acquired_at, expires_at: record.expires_at, label: lease.holder() }
    }
}

/// A request that was answered before with this token gets the same term while it is current, and
/// nothing after.
fn repeated(token: Token, open: i64, current: Option<&Lease>, now: Instant) -> Attempt {
    let term = term::read(token);
    let standing = standing(term.as_ref().map(|t| &t.record), current.map(|l| &l.record), open, now);
    match current.filter(|_| standing == Standing::Current) {
        Some(lease) => Attempt::Granted(Granted {
            token,
            acquired_at: lease.record.acquired_at,
            expires_at: lease.record.expires_at,
            holder: lease.holder(),
            length: lease.record.expires_at - lease.record.renewed_at,
        }),
        None => Attempt::Over,
    }
}

/// With gate, namespace and fence locked: looks again, and grants.
fn locked(request: &Request) -> Result<Attempt, Error> {
    // A renewal or release in flight decides first what becomes of the old term.
    let heartbeat = Tag::heartbeat(request.lease.hash);
    if !heartbeat.try_lock(Mode::Exclusive) {
        return Ok(blocked(heartbeat.in_the_way_of(Mode::Exclusive), false));
    }
    let outcome = grant(request)?;
    if !matches!(outcome, Attempt::Granted(_)) {
        heartbeat.unlock(Mode::Exclusive);
    }
    Ok(outcome)
}

/// With the heartbeat locked as well.
fn grant(request: &Request) -> Result<Attempt, Error> {
    // The namespace may have been dropped, and even made anew, before its lock was to be had; or the privilege
    // withdrawn.
    extension::catch_up();
    if extension::configuration_version() != request.version {
        if namespace::require(&request.namespace.name)?.id != request.namespace.id {
            return Err(namespace::missing(&request.namespace.name));
        }
        namespace::require_privilege(&request.namespace, &[Privilege::Hold])?;
    }
    let leases = Leases::to_write();
    let Grantable { open, current, now } = match look(request, &leases) {
        Ok(found) => found,
        Err(outcome) => return Ok(outcome),
    };
    // A batch of renewals locks rows alone.
    if let Some(lease) = current.as_ref().filter(|lease| lease.is_being_changed()) {
        let writers = lease.changer().map_or_else(Vec::new, |writer| writer.in_the_way_of(Mode::Shared));
        return Ok(blocked(writers, false));
    }
    // What may have been issued before is not issued again.
    let terms = Terms::to_write();
    let Some((token, lsn)) = issue::draw(open, &terms)? else { return Ok(Attempt::Closed) };
    let record = current.as_ref().map(|lease| lease.record.token);
    let fence = fence::Locked::read(&request.lease);
    if record.max(fence.token()) >= Some(token) && !mutant::without("fence_ahead") {
        return Ok(Attempt::Closed);
    }
    let expires_at = now + request.ttl;
    let xid = xact::full_xid();
    let grant = Grant {
        token,
        granted_by: xid,
        holder: &request.holder,
        role: request.role,
        ttl: request.ttl,
        now,
        expires_at,
        session: request.bind_session.then(Session::mine),
    };
    match leases.grant(&request.lease, current.as_ref(), &grant) {
        Written::Done => {}
        Written::Busy | Written::Changed => return Ok(Attempt::Again),
    }
    let command = xact::writing_command();
    require_done(fence.advance(&request.lease, token, xid))?;
    match (&current, fence.token()) {
        (Some(previous), _) => close_previous(previous, token, now)?,
        // Its row was removed.
        (None, Some(previous)) => supersede(previous, token)?,
        (None, None) => {}
    }
    terms.insert(&term::NewTerm {
        token,
        lease: &request.lease,
        holder: &request.holder,
        role: request.role,
        request_id: request.request_id,
        purpose: request.purpose.as_deref(),
        acquired_at: now,
        expires_at,
    });
    if let Some(id) = request.request_id {
        request::insert(id, request.role, &request.lease, token);
    }
    fences::acquired(request.lease.clone(), command);
    if request.bind_session {
        binding::bind(request.lease.clone(), token);
    }
    announce(&request.namespace, &request.lease, token, "granted");
    // The number must never be drawn again once a client has seen it, and the client may see it
    // before the commit is on disk.
    xact::flush_wal(lsn);
    Ok(Attempt::Granted(Granted {
        token,
        acquired_at: now,
        expires_at,
        holder: request.holder.clone(),
        length: request.ttl,
    }))
}

/// Records what became of the previous term of the lease, unless somebody ended it: that is recorded.
fn close_previous(previous: &Lease, next: Token, now: Instant) -> Result<(), Error> {
    let record = &previous.record;
    if record.ended.is_some() {
        return Ok(());
    }
    let Some(term) = term::read(record.token) else { return Ok(()) };
    let of_epoch = || epoch::void_end(record, Some(next.epoch()), now);
    let end = of_epoch().or_else(|| record.end(now).map(|reason| (reason, record.end_time(now))));
    let end = end.map(|(reason, at)| term::End { reason, by: None, at, observed_at: now });
    require_done(term::close(&term, record, end.as_ref(), Some(next)))
}

/// Records by which term one was superseded that had merely lapsed when its lease was removed.
fn supersede(previous: Token, next: Token) -> Result<(), Error> {
    let lapsed = term::read(previous).filter(|term| term.record.ended == Some(EndReason::Expired));
    lapsed.map_or(Ok(()), |term| require_done(term::supersede(&term, next)))
}

fn answer(request: &Request, outcome: Attempt) -> Answer<'static> {
    let bytes = |b: &[u8]| Value::Raw(text::datum_of(b));
    let status = |s: &'static str| Value::Text(s.as_bytes());
    let mut row = vec![Value::Null; 10];
    match outcome {
        Attempt::Granted(g) => {
            row[0] = status("granted");
            row[1] = Value::BigInt(g.token.to_bigint());
            row[2] = Value::BigInt(g.token.epoch());
            row[3] = Value::BigInt(g.token.seq());
            row[4] = Value::Time(g.acquired_at);
            row[5] = Value::Time(g.expires_at);
            row[6] = Value::Span(trust_for(g.expires_at, request.statement_start, g.length));
            row[7] = bytes(&g.holder);
        }
        Attempt::Held { by, retry_after } => {
            row[0] = status("held");
            if let Some(holder) = by {
                row[4] = Value::Time(holder.acquired_at);
                row[5] = Value::Time(holder.expires_at);
                row[7] = bytes(&holder.label);
            }
            row[8] = Value::Span(retry_after);
        }
        Attempt::CoolingDown { retry_after } => {
            row[0] = status("cooling_down");
            row[8] = Value::Span(retry_after);
        }
        Attempt::Blocked { pids, .. } => {
            row[0] = status("blocked");
            row[8] = Value::Span(SOON);
            row[9] = Value::Raw(text::array_of_int(&pids));
        }
        Attempt::Closed => row[0] = status("closed"),
        Attempt::Over => row[0] = status("over"),
        Attempt::Again => unreachable!("an attempt that others overtook is made again"),
    }
    Answer::Record(row)
}
