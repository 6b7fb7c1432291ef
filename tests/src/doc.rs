//! Pages of `docs/`, run as they are written.

use crate::Cluster;

/// Runs every command of a page's `console` blocks, one after the other in one shell, and compares
/// what they say with what the page says that they do. `…` in it is anything.
pub fn run(cluster: &Cluster, page: &str) {
    let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut script = "exec 2>&1\n".to_owned();
    let mut wanted = Vec::new();
    for command in
        blocks.flat_map(|block| format!("\n{block}").split("\n$ ").skip(1).map(str::to_owned).collect::<Vec<_>>())
    {
        script += &format!("echo '$ {}'\n", wanted.len());
        let (lines, said) = split(&command);
        script += &format!("{}\n", lines.trim_end());
        wanted.push((lines.trim_end().to_owned(), said.to_owned()));
    }
    assert!(!wanted.is_empty(), "no commands");
    let output = cluster.shell(&script).output().expect("sh");
    let output = format!("\n{}", String::from_utf8_lossy(&output.stdout));
    let heard: Vec<&str> = output.split("\n$ ").skip(1).collect();
    for (n, (command, wanted)) in wanted.iter().enumerate() {
        let heard = heard.get(n).and_then(|heard| heard.strip_prefix(&n.to_string())).unwrap_or("(nothing)").trim();
        assert!(matches(heard, wanted), "{command}\n-- said:\n{heard}");
    }
}

/// A command, which goes on as long as lines are indented, and its output.
fn split(text: &str) -> (&str, &str) {
    let mut end = 0;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        if n > 0 && !line.starts_with(' ') {
            break;
        }
        end += line.len();
    }
    text.split_at(end)
}

/// Whether a text is as a pattern says.
fn matches(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.trim().split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first.trim_end())) else { return false };
    for part in parts {
        match rest.find(part.trim()) {
            Some(at) => rest = &rest[at + part.trim().len()..],
            None => return false,
        }
    }
    rest.trim().is_empty() || pattern.trim_end().ends_with('…')
}
