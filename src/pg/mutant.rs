//! Counter-measures that a test may switch off, one at a time, to see that it fails without. A
//! release build has none of it.

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
            c"Names a counter-measure that is switched off. Exists in test builds only.",
            c"",
            &WITHOUT,
            GucContext::Suset,
            GucFlags::default(),
        );
    }

    /// Whether this counter-measure is switched off.
    pub fn without(counter_measure: &str) -> bool {
        WITHOUT.get().is_some_and(|name| name.to_bytes() == counter_measure.as_bytes())
    }
}
