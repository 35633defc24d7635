use std::io::Write;
use std::process::{Command, Output, Stdio};

fn packtool(mode: &str, input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_packtool"))
        .arg(mode)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start packtool");
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn there_and_back() {
    let text = b"aaaaaaaaaaaaaaaa, as they say at the dentist";
    let packed = packtool("pack", text);
    assert!(packed.status.success());
    assert!(packed.stdout.len() < text.len());
    let back = packtool("unpack", &packed.stdout);
    assert!(back.status.success());
    assert_eq!(back.stdout, text);
}

#[test]
fn a_broken_frame_fails() {
    let out = packtool("unpack", &[3, 7, 1, 2, 3, 0, 0]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&out.stderr),
        "packtool: the checksum is wrong\n"
    );
    assert!(out.stdout.is_empty());
}

#[test]
fn help() {
    let out = packtool("", b"");
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("use: packtool"));
}
