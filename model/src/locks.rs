//! Who holds which lock. A lock is held by what its holder is in the middle of, so nobody can forget to
//! give one back.

use crate::measures::Measure;
use crate::protocol::Protocol;
use crate::state::{Op, State, Step, Taking};

/// Whether an `acquire` has its locks.
fn takes(t: &Taking) -> bool {
    matches!(t.step, Step::Locked | Step::Decided | Step::Drawn | Step::Told)
}

impl Protocol {
    /// Whether anybody has passed the gate and not ended: writers, and whoever changes a lease.
    pub(crate) fn gate_is_held(&self, s: &State, server: u8) -> bool {
        s.ops(server).any(|op| match op {
            Op::Idle => false,
            Op::Writing(w) => w.gate,
            Op::Taking(t) => takes(t),
            Op::Changing(_) => true,
        })
    }

    /// Whether anybody holds the fence, in whatever mode.
    pub(crate) fn fence_is_held(&self, s: &State, server: u8) -> bool {
        s.ops(server).any(|op| match op {
            Op::Writing(w) => w.fence,
            Op::Taking(t) => takes(t),
            Op::Idle | Op::Changing(_) => false,
        })
    }

    /// Whether somebody other than this client holds the fence exclusively.
    pub(crate) fn fence_is_taken(&self, s: &State, server: u8, client: u8) -> bool {
        let exclusive = !self.without(Measure::AcquireLocks);
        let others = s.clients.iter().enumerate().filter(|(number, _)| *number != client as usize);
        let mut others = others.filter_map(|(_, other)| other.as_ref()).filter(|other| other.server == server);
        exclusive && others.any(|other| matches!(&other.op, Op::Taking(t) if takes(t)))
    }

    /// Whether somebody is changing the lease's row.
    pub(crate) fn heartbeat_is_taken(&self, s: &State, server: u8) -> bool {
        s.ops(server).any(|op| match op {
            Op::Idle => false,
            Op::Writing(w) => w.releases,
            Op::Taking(t) => takes(t),
            Op::Changing(_) => true,
        })
    }
}
