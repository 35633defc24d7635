use std::fmt;

/// What can be wrong with an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// A character that begins no token, and where it is.
    Character(char, usize),
    /// A number that cannot be read.
    Number(String),
    /// The text ends too early.
    End,
    /// A token that does not fit.
    Unexpected(String),
    /// A name that is not set.
    Name(String),
    /// A function that does not exist or has another number of arguments.
    Function(String, usize),
    /// Division by zero.
    Zero,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Character(c, at) => write!(f, "unexpected {c:?} at {at}"),
            Error::Number(text) => write!(f, "{text:?} is no number"),
            Error::End => write!(f, "the expression ends too early"),
            Error::Unexpected(token) => write!(f, "unexpected {token}"),
            Error::Name(name) => write!(f, "{name} is not set"),
            Error::Function(name, count) => write!(f, "no function {name} with {count} arguments"),
            Error::Zero => write!(f, "division by zero"),
        }
    }
}

impl std::error::Error for Error {}
