use std::collections::HashMap;

use crate::error::Error;
use crate::parser::Expr;

/// The names that an expression can use.
#[derive(Debug, Clone, Default)]
pub struct Env {
    names: HashMap<String, f64>,
}

impl Env {
    pub fn new() -> Env {
        Env::default()
    }

    /// Sets a name.
    pub fn set(&mut self, name: &str, value: f64) {
        self.names.insert(name.to_string(), value);
    }

    fn get(&self, name: &str) -> Result<f64, Error> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| Error::Name(name.to_string()))
    }
}

impl Expr {
    /// Evaluates the expression.
    pub fn eval(&self, env: &Env) -> Result<f64, Error> {
        match self {
            Expr::Number(n) => Ok(*n),
            Expr::Name(name) => env.get(name),
            Expr::Negate(inner) => Ok(-inner.eval(env)?),
            Expr::Binary(sign, left, right) => binary(*sign, left.eval(env)?, right.eval(env)?),
            Expr::Call(name, args) => {
                let values: Result<Vec<f64>, Error> = args.iter().map(|a| a.eval(env)).collect();
                call(name, &values?)
            }
        }
    }
}

fn binary(sign: char, a: f64, b: f64) -> Result<f64, Error> {
    if (sign == '/' || sign == '%') && b == 0.0 {
        return Err(Error::Zero);
    }
    Ok(match sign {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '/' => a / b,
        '%' => a.rem_euclid(b),
        _ => a.powf(b),
    })
}

fn call(name: &str, values: &[f64]) -> Result<f64, Error> {
    match (name, values) {
        ("abs", [a]) => Ok(a.abs()),
        ("sqrt", [a]) => Ok(a.sqrt()),
        ("min", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, b| a.min(*b))),
        ("max", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, b| a.max(*b))),
        _ => Err(Error::Function(name.to_string(), values.len())),
    }
}
