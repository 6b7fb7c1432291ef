//! NOTIFY.

use super::{raw, text};
use std::ffi::{CStr, c_char};

unsafe extern "C-unwind" {
    fn Async_Notify(channel: *const c_char, payload: *const c_char);
}

/// Sends a notification once this transaction commits; a savepoint's rollback takes it back.
pub fn send(channel: &CStr, payload: &str) {
    let payload = text::to_server_cstr(payload);
    // SAFETY: both are NUL-terminated and copied; no destructor in the closure.
    unsafe { raw::catch(|| Async_Notify(channel.as_ptr(), payload)) };
}
