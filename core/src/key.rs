//! Lease keys made from column values.

/// The key of several values: what PostgreSQL's `ROW(...)::text` gives for them.
pub fn row_text(values: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![b'('];
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        let special = |b: &u8| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_space(*b);
        if !value.is_empty() && !value.iter().any(special) {
            out.extend_from_slice(value);
            continue;
        }
        out.push(b'"');
        for &b in *value {
            if matches!(b, b'"' | b'\\') {
                out.push(b);
            }
            out.push(b);
        }
        out.push(b'"');
    }
    out.push(b')');
    out
}

/// C's `isspace` for ASCII.
fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// The text of a uuid.
pub fn uuid_text(bytes: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(36);
    for (i, b) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(format!("{b:02x}").as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(values: &[&str]) -> String {
        let bytes: Vec<_> = values.iter().map(|v| v.as_bytes()).collect();
        String::from_utf8(row_text(&bytes)).unwrap()
    }

    #[test]
    fn quoted_as_a_row_is() {
        assert_eq!(row(&["a", "1"]), "(a,1)");
        assert_eq!(row(&["", "x y"]), r#"("","x y")"#);
        assert_eq!(row(&["a,b", "(c)", r#"d"e"#, r"f\g"]), r#"("a,b","(c)","d""e","f\\g")"#);
    }

    #[test]
    fn uuids() {
        let bytes = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(uuid_text(&bytes), b"00112233-4455-6677-8899-aabbccddeeff");
    }

    proptest! {
        /// Different values never make the same key.
        #[test]
        fn injective(a in "[a-c,() \"\\\\]{0,4}", b in "[a-c,() \"\\\\]{0,4}", c in "[a-c,() \"\\\\]{0,4}", d in "[a-c,() \"\\\\]{0,4}") {
            prop_assert_eq!(row(&[&a, &b]) == row(&[&c, &d]), (a, b) == (c, d));
        }
    }
}
