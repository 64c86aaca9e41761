//! The table of all figures.

use super::measure::{FOREIGN, Row};

const HEAD: [&str; 10] =
    ["scenario", "server", "result", "", "p50 ms", "p99 ms", "CPU µs each", "of the limit", "foreign", "besides"];

pub fn print(rows: &[Row]) {
    let lines: Vec<[String; 10]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(line)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap();
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let is_text = matches!(column, 0 | 1 | 3 | 9);
            if is_text { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

fn line(row: &Row) -> [String; 10] {
    let run = &row.run;
    let optional = |value: Option<f64>| value.map(number).unwrap_or_default();
    let notes = run.notes.iter().map(|(name, value)| format!("{name}: {}", number(*value)));
    [
        row.scenario.clone(),
        row.label.clone(),
        number(run.figure),
        row.unit.name.to_owned(),
        optional(run.p50),
        optional(run.p99),
        optional(run.cpu),
        row.share().map(|share| format!("{:.0} %", share * 100.0)).unwrap_or_default(),
        format!("{:.0} %{}", run.foreign * 100.0, if run.foreign > FOREIGN { " (!)" } else { "" }),
        notes.collect::<Vec<_>>().join(", "),
    ]
}

impl Row {
    /// How near the figure is to its limit: 1 is the limit itself.
    pub fn share(&self) -> Option<f64> {
        self.limit.map(|limit| if self.unit.lower_is_better { limit / self.run.figure } else { self.run.figure / limit })
    }
}

/// With thousands separated, and three significant digits at least.
pub fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => {
            let digits = format!("{value:.0}");
            let mut text = String::new();
            for (n, digit) in digits.chars().enumerate() {
                if n > 0 && (digits.len() - n) % 3 == 0 {
                    text.push(',');
                }
                text.push(digit);
            }
            text
        }
    }
}
