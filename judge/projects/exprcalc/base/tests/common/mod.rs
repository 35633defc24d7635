use exprcalc::Env;

/// The names that the tests use.
pub fn env() -> Env {
    let mut env = Env::new();
    env.set("x", 3.0);
    env.set("y", 0.5);
    env
}

#[allow(dead_code)]
pub fn assert_close(got: f64, want: f64, text: &str) {
    assert!((got - want).abs() < 1e-9, "{text}: got {got}, want {want}");
}
