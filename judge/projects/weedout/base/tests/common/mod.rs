//! What the integration tests share.
#![allow(dead_code)]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub fn read(name: &str) -> String {
    fs::read_to_string(data(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares with a file of tests/data, line by line for the sake of the message.
pub fn golden(name: &str, got: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(data(name), got).unwrap();
    }
    let want = read(name);
    for (i, (got, want)) in got.lines().zip(want.lines()).enumerate() {
        assert_eq!(got, want, "{name}, line {}", i + 1);
    }
    assert_eq!(got.len(), want.len(), "{name}: the lengths differ");
}

pub fn weedout(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weedout"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails does not read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}
