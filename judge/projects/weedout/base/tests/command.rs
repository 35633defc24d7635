//! The command.

mod common;

use common::{data, weedout};

#[test]
fn prints_what_is_kept() {
    let out = weedout(&[data("web.rules").to_str().unwrap()], "index.html\n./app.js.map\nnode_modules/x/index.js\n");
    assert!(out.status.success());
    assert_eq!(String::from_utf8_lossy(&out.stdout), "index.html\n");
}

#[test]
fn prints_reasons() {
    let out = weedout(&["--explain", data("web.rules").to_str().unwrap()], "app.js.map\nlib/\n");
    assert_eq!(String::from_utf8_lossy(&out.stdout), "drop app.js.map (line 3: *.map)\nkeep lib/\n");
}

#[test]
fn says_what_is_wrong() {
    for (args, want) in [
        (vec![], "weedout: usage: weedout [--explain] RULES < PATHS\n".to_string()),
        (vec!["/nowhere/rules"], "weedout: /nowhere/rules: No such file or directory (os error 2)\n".to_string()),
    ] {
        let out = weedout(&args, "a\n");
        assert_eq!(out.status.code(), Some(2));
        assert_eq!(String::from_utf8_lossy(&out.stderr), want);
    }
}
