//! Ignore files.

use crate::glob::{Pattern, PatternError};
use std::fmt;

/// A line of an ignore file that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    line: usize,
    text: String,
    pattern: Pattern,
    keeps: bool,
    only_dirs: bool,
}

/// An ignore file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

/// What becomes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    /// Left out because of a line, counted from 1.
    Drop { line: usize },
}

/// A line that is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    pub line: usize,
    pub reason: PatternError,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ParseError {}

impl Rule {
    /// Reads a line; empty lines and comments are no rules.
    fn parse(line: usize, source: &str) -> Result<Option<Rule>, PatternError> {
        let text = without_blanks(source);
        if text.is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        let (body, keeps) = match text.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (body, only_dirs) = match body.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (body, false),
        };
        let pattern = match body.strip_prefix('/') {
            Some(rest) => Pattern::new(rest)?,
            None if body.contains('/') => Pattern::new(body)?,
            None => Pattern::new(&format!("**/{body}"))?,
        };
        Ok(Some(Rule { line, text: text.to_string(), pattern, keeps, only_dirs }))
    }
}

/// Drops blanks at the end, but not an escaped one.
fn without_blanks(source: &str) -> &str {
    let text = source.trim_end_matches([' ', '\t', '\r']);
    let escapes = text.len() - text.trim_end_matches('\\').len();
    if escapes % 2 == 1 && source[text.len()..].starts_with(' ') {
        &source[..text.len() + 1]
    } else {
        text
    }
}

impl Rules {
    pub fn parse(source: &str) -> Result<Rules, ParseError> {
        let mut rules = Vec::new();
        for (i, text) in source.lines().enumerate() {
            match Rule::parse(i + 1, text) {
                Ok(rule) => rules.extend(rule),
                Err(reason) => return Err(ParseError { line: i + 1, reason }),
            }
        }
        Ok(Rules { rules })
    }

    /// The rule of a line.
    pub fn text_of(&self, line: usize) -> Option<&str> {
        self.rules.iter().find(|rule| rule.line == line).map(|rule| rule.text.as_str())
    }

    /// What becomes of a path, given the directories in which it lies.
    pub fn verdict(&self, path: &str, is_dir: bool) -> Verdict {
        let path = path.strip_prefix("./").unwrap_or(path);
        for (end, _) in path.match_indices('/') {
            if let Verdict::Drop { line } = self.alone(&path[..end], true) {
                return Verdict::Drop { line };
            }
        }
        self.alone(path, is_dir)
    }

    fn alone(&self, path: &str, is_dir: bool) -> Verdict {
        let decides = self
            .rules
            .iter()
            .rev()
            .filter(|rule| is_dir || !rule.only_dirs)
            .find(|rule| rule.pattern.matches(path));
        match decides {
            Some(rule) if !rule.keeps => Verdict::Drop { line: rule.line },
            _ => Verdict::Keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(source: &str) -> Rule {
        Rule::parse(1, source).unwrap().unwrap()
    }

    #[test]
    fn no_rules() {
        for source in ["", "   ", "# *.o", "#"] {
            assert_eq!(Rule::parse(1, source), Ok(None), "{source:?}");
        }
    }

    #[test]
    fn blanks_at_the_end() {
        assert_eq!(rule("*.o  "), rule("*.o"));
        assert_eq!(rule("*.o\t \r"), rule("*.o"));
        assert_eq!(rule("a b"), rule("a b "));
        assert_eq!(rule("a\\ "), rule("a\\   "));
        assert_ne!(rule("a\\ "), rule("a"));
        assert_ne!(rule(" a"), rule("a"));
    }

    #[test]
    fn flags() {
        assert!(rule("!a").keeps && !rule("\\!a").keeps);
        assert!(rule("a/").only_dirs && !rule("a/b").only_dirs);
        assert_eq!(rule("/a").pattern, Pattern::new("a").unwrap());
        assert_eq!(rule("a/b").pattern, rule("/a/b").pattern);
        assert_eq!(rule("a").pattern, rule("**/a").pattern);
    }

    #[test]
    fn mistakes_have_lines() {
        let error = Rules::parse("*.o\n# [\n\n[a\n").unwrap_err();
        assert_eq!(error.line, 4);
        assert_eq!(error.to_string(), "line 4: a class is not closed");
    }
}
