//! Whole lists against golden files.

mod common;

use common::{golden, read};
use weedout::{explain, kept, Rules};

fn explained(name: &str) {
    let rules = Rules::parse(&read(&format!("{name}.rules"))).unwrap();
    golden(&format!("{name}.explained"), &explain(&rules, &read("tree.paths")));
}

#[test]
fn web() {
    explained("web");
}

#[test]
fn nested() {
    explained("nested");
}

#[test]
fn nothing_is_left_out_without_rules() {
    let list = read("tree.paths");
    let all: Vec<&str> = list.lines().collect();
    assert_eq!(kept(&Rules::default(), &list), all);
}

#[test]
fn a_big_list() {
    let rules = Rules::parse("*.o\n/build/\n**/gen/*.c\n[._]*\n").unwrap();
    let mut list = String::new();
    for i in 0..4000 {
        list.push_str(&format!("src/part{}/gen/file{i}.{}\n", i % 17, ["c", "h", "o"][i % 3]));
    }
    assert_eq!(kept(&rules, &list).len(), 1333);
}
