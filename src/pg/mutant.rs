//! Counter-measures that a test may switch off, to see that it fails without: one, or several joined
//! by `+` where each of them is enough. A release build has none of it.

#[cfg(feature = "mutants")]
pub use on::*;

/// Whether this counter-measure is switched off: never.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub const fn without(_counter_measure: &str) -> bool {
    false
}

#[cfg(feature = "mutants")]
mod on {
    use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
    use std::ffi::CString;

    static WITHOUT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);

    /// Defines `fencing.test_without`.
    pub fn define() {
        GucRegistry::define_string_guc(
            c"fencing.test_without",
            c"Names the counter-measures that are switched off, joined by +. Exists in test builds only.",
            c"",
            &WITHOUT,
            GucContext::Suset,
            GucFlags::default(),
        );
    }

    /// Whether this counter-measure is switched off.
    pub fn without(counter_measure: &str) -> bool {
        let named = |names: CString| {
            names.to_bytes().split(|byte| *byte == b'+').any(|name| name == counter_measure.as_bytes())
        };
        WITHOUT.get().is_some_and(named)
    }
}
