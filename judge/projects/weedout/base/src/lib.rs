//! Reads ignore files and tells which paths they leave out.
//!
//! ```
//! use weedout::{Rules, Verdict};
//!
//! let rules = Rules::parse("# made by the compiler\n*.o\n/target/\n").unwrap();
//! assert_eq!(rules.verdict("src/main.o", false), Verdict::Drop { line: 2 });
//! assert_eq!(rules.verdict("target/debug/app", false), Verdict::Drop { line: 3 });
//! assert_eq!(rules.verdict("src/main.rs", false), Verdict::Keep);
//! ```

mod glob;
mod rules;

pub use glob::{Pattern, PatternError};
pub use rules::{ParseError, Rule, Rules, Verdict};

/// Splits what says that a path is a directory from the path.
fn kind_of(path: &str) -> (&str, bool) {
    match path.strip_suffix('/') {
        Some(dir) => (dir, true),
        None => (path, false),
    }
}

/// The paths of a list, one a line, that the rules keep.
pub fn kept<'a>(rules: &Rules, list: &'a str) -> Vec<&'a str> {
    list.lines()
        .filter(|line| !line.is_empty())
        .filter(|line| {
            let (path, is_dir) = kind_of(line);
            rules.verdict(path, is_dir) == Verdict::Keep
        })
        .collect()
}

/// A line of reasons for every path of a list.
pub fn explain(rules: &Rules, list: &str) -> String {
    let mut out = String::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let (path, is_dir) = kind_of(line);
        match rules.verdict(path, is_dir) {
            Verdict::Keep => out.push_str(&format!("keep {line}\n")),
            Verdict::Drop { line: number } => {
                let text = rules.text_of(number).unwrap_or("?");
                out.push_str(&format!("drop {line} (line {number}: {text})\n"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn readme_names_the_version() {
        let readme = include_str!("../README.md");
        assert_eq!(readme.lines().next(), Some(concat!("# weedout ", env!("CARGO_PKG_VERSION"))));
    }
}
