#!/bin/sh
# label: accept
# kind: dependency-added
# task: Add packtool hex, which prints the frame in hexadecimal, sixteen octets a line. Put the printing into a crate of its own, with tests.
# why: a third member with unit tests, a path dependency, the lock file of cargo, a new mode and a test of the command.
# forms: shell capability
# set: blind
mkdir -p packhex/src
cat > packhex/Cargo.toml <<'T'
[package]
name = "packhex"
version = "0.1.0"
edition = "2021"

[dependencies]
T
cat > packhex/src/lib.rs <<'R'
//! Octets as text.

/// Writes sixteen octets a line.
pub fn lines(bytes: &[u8]) -> String {
    let mut out = String::new();
    for line in bytes.chunks(16) {
        let octets: Vec<String> = line.iter().map(|b| format!("{b:02x}")).collect();
        out.push_str(&octets.join(" "));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn short_and_long() {
        assert_eq!(lines(b""), "");
        assert_eq!(lines(&[0, 255]), "00 ff\n");
        assert_eq!(lines(&[1; 17]).lines().count(), 2);
    }
}
R
sed -i 's/"packline", "packtool"/"packline", "packhex", "packtool"/' Cargo.toml
sed -i 's/^packline = .*/packhex = { path = "..\/packhex" }\n&/' packtool/Cargo.toml
sed -i 's/^        "info" => info/        "hex" => packhex::lines(\&packline::pack(\&input)).into_bytes(),\n&/; s/pack|unpack|info/pack|unpack|info|hex/' packtool/src/main.rs
cat >> packtool/tests/command.rs <<'R'

#[test]
fn hex_of_nothing() {
    assert_eq!(packtool("hex", b"").stdout, b"00 00 00\n");
}
R
cargo generate-lockfile --offline --quiet
