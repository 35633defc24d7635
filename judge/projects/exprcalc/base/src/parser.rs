use crate::error::Error;
use crate::lexer::Token;

/// An expression that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Number(f64),
    Name(String),
    Negate(Box<Expr>),
    Binary(char, Box<Expr>, Box<Expr>),
    Call(String, Vec<Expr>),
}

pub fn parse(tokens: &[Token]) -> Result<Expr, Error> {
    let mut parser = Parser { tokens, at: 0 };
    let out = parser.sum()?;
    match parser.peek() {
        None => Ok(out),
        Some(token) => Err(unexpected(token)),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, signs: &str) -> Option<char> {
        match self.peek() {
            Some(Token::Sign(c)) if signs.contains(*c) => {
                let c = *c;
                self.at += 1;
                Some(c)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<Expr, Error> {
        let mut left = self.product()?;
        while let Some(sign) = self.take("+-") {
            left = binary(sign, left, self.product()?);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, Error> {
        let mut left = self.unary()?;
        while let Some(sign) = self.take("*/%") {
            left = binary(sign, left, self.unary()?);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Error> {
        if self.take("-").is_some() {
            return Ok(Expr::Negate(Box::new(self.unary()?)));
        }
        self.power()
    }

    fn power(&mut self) -> Result<Expr, Error> {
        let base = self.atom()?;
        if self.take("^").is_some() {
            return Ok(binary('^', base, self.unary()?));
        }
        Ok(base)
    }

    fn atom(&mut self) -> Result<Expr, Error> {
        let token = self.peek().cloned().ok_or(Error::End)?;
        self.at += 1;
        match token {
            Token::Number(n) => Ok(Expr::Number(n)),
            Token::Name(name) if self.take("(").is_some() => {
                Ok(Expr::Call(name, self.arguments()?))
            }
            Token::Name(name) => Ok(Expr::Name(name)),
            Token::Sign('(') => {
                let inner = self.sum()?;
                self.close()?;
                Ok(inner)
            }
            token => Err(unexpected(&token)),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Error> {
        let mut out = Vec::new();
        if self.take(")").is_some() {
            return Ok(out);
        }
        loop {
            out.push(self.sum()?);
            if self.take(",").is_none() {
                self.close()?;
                return Ok(out);
            }
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        match self.take(")") {
            Some(_) => Ok(()),
            None => Err(self.peek().map_or(Error::End, unexpected)),
        }
    }
}

fn binary(sign: char, left: Expr, right: Expr) -> Expr {
    Expr::Binary(sign, Box::new(left), Box::new(right))
}

fn unexpected(token: &Token) -> Error {
    Error::Unexpected(match token {
        Token::Number(n) => n.to_string(),
        Token::Name(name) => name.clone(),
        Token::Sign(c) => c.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;

    fn read(text: &str) -> Result<Expr, Error> {
        parse(&lex(text)?)
    }

    #[test]
    fn powers_group_to_the_right() {
        assert_eq!(read("a ^ b ^ c"), read("a ^ (b ^ c)"));
    }

    #[test]
    fn differences_group_to_the_left() {
        assert_eq!(read("a - b - c"), read("(a - b) - c"));
    }

    #[test]
    fn minus_before_a_power() {
        assert_eq!(read("-a ^ b"), read("-(a ^ b)"));
    }

    #[test]
    fn open_parenthesis() {
        assert_eq!(read("(1 + 2"), Err(Error::End));
    }
}
