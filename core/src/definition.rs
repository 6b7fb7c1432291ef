//! A guard's definition: the argument of its triggers, `name=value&name=value`. It travels with the
//! table through dump, restore, rename and `PARTITION OF`, and nothing can disagree with it.

use crate::admission::MissingRule;
use crate::error::{Code, Error};

/// Where a row's lease key comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeySource {
    /// One lease for the table.
    Fixed(String),
    /// One lease per value of these columns.
    Columns(Vec<String>),
}

/// A guard. With a coordinator it is that one's leases (`fence=destination`), else those of this database.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // named as the arguments of protect
pub struct Definition {
    pub coordinator: Option<String>,
    pub namespace: String,
    pub key: KeySource,
    pub token_column: Option<String>,
    pub present_column: Option<String>,
    pub on_missing: MissingRule,
    pub observe: bool,
    pub statement_level: bool,
}

impl Definition {
    /// The triggers' argument: the settings, with `%` and `&` in them written as `%25` and `%26`. One for
    /// all of them: each statement copies the arguments of every trigger of its table.
    pub fn argument(&self) -> String {
        let escaped: Vec<_> = self.settings().iter().map(|s| s.replace('%', "%25").replace('&', "%26")).collect();
        escaped.join("&")
    }

    /// Reads what [`Definition::argument`] wrote, or several of its kind.
    pub fn parse(arguments: &[String]) -> Result<Definition, Error> {
        let escaped = arguments.iter().flat_map(|argument| argument.split('&'));
        Definition::of_settings(&escaped.map(|s| s.replace("%26", "&").replace("%25", "%")).collect::<Vec<_>>())
    }

    /// `name=value` each. What is as usual is left out.
    pub fn settings(&self) -> Vec<String> {
        let mut out = vec![format!("namespace={}", self.namespace)];
        if let Some(coordinator) = &self.coordinator {
            out.extend(["fence=destination".to_owned(), format!("coordinator={coordinator}")]);
        }
        match &self.key {
            KeySource::Fixed(key) => out.push(format!("key={key}")),
            KeySource::Columns(columns) => out.extend(columns.iter().map(|c| format!("key_column={c}"))),
        }
        out.extend(self.token_column.iter().map(|c| format!("token_column={c}")));
        out.extend(self.present_column.iter().map(|c| format!("present_column={c}")));
        let rules = [
            (self.on_missing == MissingRule::Admit, "on_missing=admit"),
            (self.observe, "mode=observe"),
            (self.statement_level, "level=statement"),
        ];
        out.extend(rules.into_iter().filter(|(differs, _)| *differs).map(|(_, rule)| rule.to_owned()));
        out
    }

    /// Reads what [`Definition::settings`] wrote. Anything else is refused: a guard that can't be
    /// understood lets nothing pass.
    pub fn of_settings(settings: &[String]) -> Result<Definition, Error> {
        let bad = |setting: &str| {
            Error::new(Code::InvalidParameter, format!("invalid guard argument \"{setting}\""))
                .detail("The trigger's arguments are not a guard's definition that this library knows.")
                .hint("Attach guards with fencing.protect.")
        };
        let (mut namespace, mut key, mut columns) = (None, None, Vec::new());
        let (mut destination, mut coordinator) = (false, None);
        let (mut token_column, mut present_column) = (None, None);
        let (mut on_missing, mut observe, mut statement_level) = (MissingRule::Reject, false, false);
        for setting in settings {
            let (name, value) = setting.split_once('=').ok_or_else(|| bad(setting))?;
            match (name, value) {
                ("namespace", _) => namespace = Some(value.to_owned()),
                ("key", _) => key = Some(value.to_owned()),
                ("key_column", _) => columns.push(value.to_owned()),
                ("token_column", _) => token_column = Some(value.to_owned()),
                ("present_column", _) => present_column = Some(value.to_owned()),
                ("fence", "lease") | ("on_missing", "reject") | ("mode", "enforce") | ("level", "row") => {}
                ("fence", "destination") => destination = true,
                ("coordinator", _) => coordinator = Some(value.to_owned()),
                ("on_missing", "admit") => on_missing = MissingRule::Admit,
                ("mode", "observe") => observe = true,
                ("level", "statement") => statement_level = true,
                _ => return Err(bad(setting)),
            }
        }
        let key = match (key, columns.is_empty()) {
            (Some(key), true) => KeySource::Fixed(key),
            (None, false) => KeySource::Columns(columns),
            _ => return Err(bad("key")),
        };
        let namespace = namespace.ok_or_else(|| bad("namespace"))?;
        if destination != coordinator.is_some() {
            return Err(bad("coordinator"));
        }
        Ok(Definition {
            coordinator,
            namespace,
            key,
            token_column,
            present_column,
            on_missing,
            observe,
            statement_level,
        })
    }
}

impl Definition {
    /// The definition once a column has another name; `None` where it doesn't mention the column.
    pub fn with_column_renamed(&self, from: &str, to: &str) -> Option<Definition> {
        let mut renamed = self.clone();
        let key = match &mut renamed.key {
            KeySource::Columns(columns) => columns.as_mut_slice(),
            KeySource::Fixed(_) => &mut [],
        };
        let mut found = false;
        for column in key.iter_mut().chain(&mut renamed.token_column).chain(&mut renamed.present_column) {
            if column == from {
                to.clone_into(column);
                found = true;
            }
        }
        found.then_some(renamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(key: KeySource) -> Definition {
        Definition {
            coordinator: None,
            namespace: "jobs".into(),
            key,
            token_column: Some("to=ken".into()),
            present_column: None,
            on_missing: MissingRule::Admit,
            observe: true,
            statement_level: false,
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for key in ["a=b", "a&key=b", "%26", "a%2526&", "&"] {
            for key in [KeySource::Fixed(key.into()), KeySource::Columns(vec!["x".into(), key.into()])] {
                let definition = sample(key);
                let remote = Definition { coordinator: Some("etcd".into()), ..definition.clone() };
                for written in [definition, remote] {
                    assert_eq!(Definition::of_settings(&written.settings()), Ok(written.clone()));
                    assert_eq!(Definition::parse(&[written.argument()]), Ok(written));
                }
            }
        }
    }

    #[test]
    fn an_argument_is_short_and_readable() {
        let plain =
            Definition { on_missing: MissingRule::Reject, observe: false, ..sample(KeySource::Fixed("a&b".into())) };
        assert_eq!(plain.argument(), "namespace=jobs&key=a%26b&token_column=to=ken");
    }

    #[test]
    fn renamed_columns_are_followed() {
        let definition = sample(KeySource::Columns(vec!["x".into(), "y".into()]));
        let renamed = definition.with_column_renamed("y", "z").unwrap();
        assert_eq!(renamed.key, KeySource::Columns(vec!["x".into(), "z".into()]));
        assert_eq!(definition.with_column_renamed("to=ken", "t").unwrap().token_column.as_deref(), Some("t"));
        assert_eq!(definition.with_column_renamed("other", "z"), None);
        assert_eq!(sample(KeySource::Fixed("x".into())).with_column_renamed("x", "z"), None);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for bad in [
            &["namespace=jobs"][..],
            &["key=a"],
            &["namespace=jobs", "key=a", "key_column=b"],
            &["namespace=jobs", "key=a", "mode=off"],
            &["namespace=jobs", "key=a", "later=1"],
            &["namespace=jobs", "key=a", "fence=destination"],
            &["namespace=jobs", "key=a", "coordinator=etcd"],
            &["namespace=jobs", "key=a", "fence=lease", "coordinator=etcd"],
            &["jobs"],
        ] {
            assert!(Definition::parse(&[bad.join("&")]).is_err(), "{bad:?}");
        }
    }
}
