use exprcalc::{eval, parse, Env};

fn main() {
    let mut env = Env::new();
    env.set("k", 6.0);
    env.set("zero", 0.0);
    let good = [
        ("2 ^ 2 ^ 3", 256.0),
        ("3 ^ 1 ^ 5", 3.0),
        ("4 ^ 0.5 ^ 1", 2.0),
        ("-3 ^ 2", -9.0),
        ("(-3) ^ 2", 9.0),
        ("-k ^ 2 + 1", -35.0),
        ("2 ^ -2", 0.25),
        ("--k", 6.0),
        ("100 - 10 - 1", 89.0),
        ("64 / 4 / 2", 8.0),
        ("-1 % 5", 4.0),
        ("-13 % 4", 3.0),
        ("13 % 4", 1.0),
        ("5 % 3 * 2", 4.0),
        ("1_0 + k", 16.0),
        ("min(k, 7) * max(1, 2, 3)", 18.0),
    ];
    for (text, want) in good {
        match eval(text, &env) {
            Ok(got) if (got - want).abs() < 1e-9 => {}
            got => return println!("{text}: {got:?}, want {want}"),
        }
    }
    for (text, want) in [
        ("k / zero", "division by zero"),
        ("k % zero", "division by zero"),
        ("1 / (2 - 2)", "division by zero"),
        ("0 / 0", "division by zero"),
        ("0 % -0", "division by zero"),
        ("q", "q is not set"),
        ("abs(1, 2)", "no function abs with 2 arguments"),
        ("(k", "the expression ends too early"),
    ] {
        match eval(text, &env) {
            Err(err) if err.to_string() == want => {}
            got => return println!("{text}: {got:?}, want {want}"),
        }
    }
    let read = format!("{:?}", parse("f(1, k, 2 ^ 3)").unwrap());
    let want = r#"Call("f", [Number(1.0), Name("k"), Binary('^', Number(2.0), Number(3.0))])"#;
    if read != want {
        return println!("{read}, want {want}");
    }
    println!("all good");
}
