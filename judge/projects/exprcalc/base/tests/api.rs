mod common;

use exprcalc::{Error, Expr};

#[test]
fn an_expression_is_read_once() {
    let expr = exprcalc::parse("x + 1").unwrap();
    let mut env = common::env();
    assert_eq!(expr.eval(&env), Ok(4.0));
    env.set("x", 9.0);
    assert_eq!(expr.eval(&env), Ok(10.0));
}

#[test]
fn nothing_is_an_error() {
    assert_eq!(exprcalc::parse("  "), Err(Error::End));
}

#[test]
fn calls_keep_their_arguments() {
    let want = Expr::Call(
        "max".into(),
        vec![Expr::Number(1.0), Expr::Name("x".into())],
    );
    assert_eq!(exprcalc::parse("max(1, x)"), Ok(want));
}

#[test]
fn deep_parentheses() {
    let text = format!("{}1{}", "(".repeat(200), ")".repeat(200));
    assert_eq!(exprcalc::eval(&text, &common::env()), Ok(1.0));
}
