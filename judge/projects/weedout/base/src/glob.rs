//! Patterns for paths.

use std::fmt;

/// A pattern that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Class { negated: bool, ranges: Vec<(char, char)> },
    /// `*`
    Star,
    /// `**/` at the beginning or after a slash
    Dirs,
    /// `**` after a slash at the end
    Below,
}

/// Says why a pattern is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError(&'static str);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    pub fn new(text: &str) -> Result<Pattern, PatternError> {
        let chars: Vec<char> = text.chars().collect();
        let mut tokens = Vec::new();
        let mut i = 0;
        while i < chars.len() {
            match chars[i] {
                '*' => {
                    let begin = i;
                    while chars.get(i) == Some(&'*') {
                        i += 1;
                    }
                    let free = begin == 0 || chars[begin - 1] == '/';
                    match chars.get(i) {
                        Some('/') if free && i - begin == 2 => {
                            tokens.push(Token::Dirs);
                            i += 1;
                        }
                        None if free && i - begin == 2 => tokens.push(Token::Below),
                        _ => tokens.push(Token::Star),
                    }
                }
                '?' => {
                    tokens.push(Token::One);
                    i += 1;
                }
                '[' => {
                    let (class, next) = class(&chars, i + 1)?;
                    tokens.push(class);
                    i = next;
                }
                '\\' => {
                    let c = chars.get(i + 1).ok_or(PatternError("nothing is escaped"))?;
                    tokens.push(Token::Char(*c));
                    i += 2;
                }
                c => {
                    tokens.push(Token::Char(c));
                    i += 1;
                }
            }
        }
        Ok(Pattern { tokens })
    }

    /// Whether the whole path fits.
    pub fn matches(&self, path: &str) -> bool {
        // All the places in the pattern where one can be after what was read of the path.
        let mut here = vec![false; self.tokens.len() + 1];
        here[0] = true;
        self.skip(&mut here, true);
        for c in path.chars() {
            let mut next = vec![false; here.len()];
            for (i, token) in self.tokens.iter().enumerate().filter(|(i, _)| here[*i]) {
                match token {
                    Token::Char(want) => next[i + 1] |= *want == c,
                    Token::One => next[i + 1] |= c != '/',
                    Token::Class { negated, ranges } => {
                        let inside = ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
                        next[i + 1] |= c != '/' && inside != *negated;
                    }
                    Token::Star => next[i] |= c != '/',
                    Token::Dirs | Token::Below => next[i] = true,
                }
            }
            self.skip(&mut next, c == '/');
            here = next;
        }
        here[self.tokens.len()]
    }

    /// Goes on where a token may stand for nothing (more).
    fn skip(&self, here: &mut [bool], boundary: bool) {
        for (i, token) in self.tokens.iter().enumerate() {
            if here[i] && (matches!(token, Token::Star | Token::Below) || boundary && *token == Token::Dirs) {
                here[i + 1] = true;
            }
        }
    }
}

/// Reads a class behind its bracket and says where it goes on.
fn class(chars: &[char], mut i: usize) -> Result<(Token, usize), PatternError> {
    const OPEN: PatternError = PatternError("a class is not closed");
    let negated = matches!(chars.get(i), Some('!' | '^'));
    if negated {
        i += 1;
    }
    let first = i;
    let mut ranges = Vec::new();
    loop {
        let from = match chars.get(i).ok_or(OPEN)? {
            ']' if i > first => return Ok((Token::Class { negated, ranges }, i + 1)),
            '\\' => {
                i += 1;
                *chars.get(i).ok_or(OPEN)?
            }
            c => *c,
        };
        i += 1;
        let mut to = from;
        if chars.get(i) == Some(&'-') && chars.get(i + 1).ok_or(OPEN)? != &']' {
            to = chars[i + 1];
            i += 2;
        }
        if to < from {
            return Err(PatternError("a range goes backwards"));
        }
        ranges.push((from, to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    fn fits(pattern: &str, path: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(path)
    }

    fn check(pattern: &str, good: &[&str], bad: &[&str]) {
        for path in good {
            assert!(fits(pattern, path), "{pattern} does not fit {path}");
        }
        for path in bad {
            assert!(!fits(pattern, path), "{pattern} fits {path}");
        }
    }

    #[test]
    fn plain() {
        check("", &[""], &["a", "/"]);
        check("src/a.c", &["src/a.c"], &["src/a.cc", "src/axc", "a.c", "SRC/a.c"]);
        check("grün", &["grün"], &["grun"]);
    }

    #[test]
    fn stars_and_marks() {
        check("*.c", &[".c", "a.c", "a.b.c"], &["a.h", "a/b.c"]);
        check("a*b*c", &["abc", "axbxc", "abbcc"], &["ab", "acb", "ab/c"]);
        check("a?c", &["abc", "a?c", "aüc"], &["ac", "a/c", "abbc"]);
        check("x**y", &["xy", "xaay"], &["xa/y"]);
    }

    #[test]
    fn directories() {
        check("**/b", &["b", "a/b", "a/c/b"], &["ab", "a/bb", "b/a"]);
        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "x/a/b"]);
        check("a/**", &["a/b", "a/b/c"], &["a", "ab", "b/a/c"]);
        check("**/a/*", &["a/b", "x/a/b"], &["a/b/c", "a"]);
    }

    #[test]
    fn classes() {
        check("[abc]", &["a", "b", "c"], &["d", "", "ab", "/"]);
        check("[a-cx]", &["a", "b", "x"], &["d", "w", "-"]);
        check("v[0-9].[!0-9]", &["v1.x", "v9.-"], &["v1.2", "vx.x", "v1./"]);
        check("[^a]", &["b", "^"], &["a", "/"]);
        check("[]a]", &["]", "a"], &["b"]);
        check("[!]a]", &["b"], &["]", "a"]);
        check("[a-]", &["a", "-"], &["b"]);
        check("[\\]\\\\]", &["]", "\\"], &["a"]);
    }

    #[test]
    fn escapes() {
        check("\\*", &["*"], &["a", "\\*"]);
        check("a\\?\\[b", &["a?[b"], &["ab[b"]);
    }

    #[test]
    fn no_patterns() {
        for (text, why) in [
            ("[a", "a class is not closed"),
            ("[]", "a class is not closed"),
            ("[a-", "a class is not closed"),
            ("[z-a]", "a range goes backwards"),
            ("a\\", "nothing is escaped"),
        ] {
            assert_eq!(Pattern::new(text).unwrap_err().to_string(), why, "{text}");
        }
    }

    #[test]
    fn many_stars_are_quick() {
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = send.send(fits(&"a*".repeat(20), &format!("{}b/", "a".repeat(60))));
        });
        match receive.recv_timeout(Duration::from_secs(2)) {
            Ok(fit) => assert!(!fit),
            Err(_) => panic!("it takes longer than two seconds"),
        }
    }
}
