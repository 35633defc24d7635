mod common;

use std::fs;

fn lines() -> Vec<(String, String)> {
    let text = fs::read_to_string("tests/data/table.txt").expect("the table");
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once('=').expect("expression = value"))
        .map(|(a, b)| (a.trim().to_string(), b.trim().to_string()))
        .collect()
}

#[test]
fn every_line_of_the_table() {
    let env = common::env();
    let lines = lines();
    assert!(lines.len() >= 12, "only {} lines", lines.len());
    for (text, want) in lines {
        match exprcalc::eval(&text, &env) {
            Ok(got) => common::assert_close(got, want.parse().unwrap_or(f64::NAN), &text),
            Err(err) => assert_eq!(format!("error: {err}"), want, "{text}"),
        }
    }
}
