use crate::error::Error;

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Number(f64),
    Name(String),
    Sign(char),
}

pub fn lex(text: &str) -> Result<Vec<Token>, Error> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let start = at;
        if c.is_whitespace() {
            at += 1;
        } else if c.is_ascii_digit() || c == '.' {
            while at < chars.len()
                && (chars[at].is_ascii_digit() || chars[at] == '.' || chars[at] == '_')
            {
                at += 1;
            }
            let digits: String = chars[start..at].iter().filter(|c| **c != '_').collect();
            out.push(Token::Number(
                digits.parse().map_err(|_| Error::Number(digits))?,
            ));
        } else if c.is_alphabetic() {
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                at += 1;
            }
            out.push(Token::Name(chars[start..at].iter().collect()));
        } else if "+-*/%^(),".contains(c) {
            out.push(Token::Sign(c));
            at += 1;
        } else {
            return Err(Error::Character(c, at));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_underscores() {
        assert_eq!(lex("1_000.5"), Ok(vec![Token::Number(1000.5)]));
    }

    #[test]
    fn names_and_signs() {
        let want = vec![
            Token::Name("rate_2".into()),
            Token::Sign('%'),
            Token::Number(3.0),
        ];
        assert_eq!(lex(" rate_2 % 3"), Ok(want));
    }

    #[test]
    fn two_points() {
        assert_eq!(lex("1.2.3"), Err(Error::Number("1.2.3".into())));
    }

    #[test]
    fn unknown_character() {
        assert_eq!(lex("1 $ 2"), Err(Error::Character('$', 2)));
    }
}
