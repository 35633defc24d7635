#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: A frame that says more plain bytes than it has makes unpack panic. It must be Error::Short. Test it through the command, too.
# why: the length is looked at before the slice; a test of frames and one of the command are new.
# base: plain.patch
# set: blind
sed -i 's/^            out.extend(&rest\[..count\]);/            let plain = rest.get(..count).ok_or(Error::Short)?;\n            out.extend(plain);/' packline/src/runs.rs
cat >> packline/tests/frames.rs <<'R'

#[test]
fn plain_bytes_beyond_the_end() {
    assert_eq!(unpack(&[9, 19, 1, 2, 0, 0]), Err(Error::Short));
}
R
cat >> packtool/tests/command.rs <<'R'

#[test]
fn a_cut_frame_fails() {
    let out = packtool("unpack", &[9, 19, 1, 2, 0, 0]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&out.stderr), "packtool: the frame ends too early\n");
}
R
