//! Arithmetic expressions: read them once, evaluate them often.
//!
//! ```
//! let mut env = exprcalc::Env::new();
//! env.set("x", 4.0);
//! assert_eq!(exprcalc::eval("2 * (x + 1)", &env), Ok(10.0));
//! ```

mod error;
mod eval;
mod lexer;
mod parser;

pub use error::Error;
pub use eval::Env;
pub use parser::Expr;

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expr, Error> {
    parser::parse(&lexer::lex(text)?)
}

/// Reads and evaluates an expression.
pub fn eval(text: &str, env: &Env) -> Result<f64, Error> {
    parse(text)?.eval(env)
}
