//! The result: rows with their targets, as a table for people and as JSON.

use serde::Serialize;

/// What is wanted of a value.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

/// A measured value.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    met: bool,
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "at most {limit}"),
            Self::AtLeast(limit) => write!(f, "at least {limit}"),
        }
    }
}

/// The rows of one run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Table {
    machine: Vec<(&'static str, String)>,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(machine: Vec<(&'static str, String)>) -> Self {
        Self {
            machine,
            rows: Vec::new(),
        }
    }

    /// A value that is shown.
    pub(crate) fn show(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.add(what.into(), value, unit, None);
    }

    /// A value that something is wanted of.
    pub(crate) fn judge(
        &mut self,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
        target: Target,
    ) {
        self.add(what.into(), value, unit, Some(target));
    }

    fn add(&mut self, what: String, value: f64, unit: &'static str, target: Option<Target>) {
        let row = Row {
            what,
            value,
            unit,
            target,
            met: target.is_none_or(|target| target.is_met(value)),
        };
        println!("{}", line(&row));
        self.rows.push(row);
    }

    /// What was wanted and is not so.
    pub(crate) fn missed(&self) -> Vec<&str> {
        let missed = self.rows.iter().filter(|row| !row.met);
        missed.map(|row| row.what.as_str()).collect()
    }
}

fn line(row: &Row) -> String {
    let digits = match row.value.abs() {
        value if value >= 100.0 || row.value.fract() == 0.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    let verdict = match row.target {
        None => String::new(),
        Some(target) => format!("{target}{}", if row.met { "" } else { "  MISSED" }),
    };
    let value = format!("{:.digits$} {}", row.value, row.unit);
    format!("{:<52} {value:>14}  {verdict}", row.what)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_misses_its_target_is_named() {
        let mut table = Table::new(Vec::new());
        table.judge("a", 0.5, "x", Target::AtMost(0.4));
        table.judge("b", 0.93, "x", Target::AtLeast(0.93));
        table.show("c", 1e6, "IOPS");
        assert_eq!(table.missed(), ["a"]);
        assert_eq!(
            line(&table.rows[0]),
            "a                                                            0.50 x  at most 0.4  MISSED"
        );
    }
}
