//! The little JSON that the extension writes itself.

/// An object of texts, in that order.
pub fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<_> = members.iter().map(|(key, value)| format!("{}: {}", string(key), string(value))).collect();
    format!("{{{}}}", members.join(", "))
}

/// The same, of values that are JSON already.
pub fn nested(members: &[(&str, &str)]) -> String {
    let members: Vec<_> = members.iter().map(|(key, value)| format!("{}: {value}", string(key))).collect();
    format!("{{{}}}", members.join(", "))
}

/// A text.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects() {
        assert_eq!(object(&[]), "{}");
        assert_eq!(object(&[("reason", "repair"), ("b", "")]), r#"{"reason": "repair", "b": ""}"#);
    }

    #[test]
    fn objects_of_objects() {
        assert_eq!(nested(&[("a", "{}"), ("b", &string("c"))]), r#"{"a": {}, "b": "c"}"#);
    }

    #[test]
    fn whatever_ends_or_breaks_a_string_is_escaped() {
        assert_eq!(string("a\"b\\c\n\u{1}é🔑"), r#""a\"b\\c\u000a\u0001é🔑""#);
    }
}
