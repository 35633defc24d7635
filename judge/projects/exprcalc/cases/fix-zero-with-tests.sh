#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: 7 % 0 must be the error of a division by zero, as / is. Add lines to the table and a unit test.
# why: both operators refuse a zero; three new lines and a unit test of the module.
# base: zero.patch
# set: blind
sed -i "s/if sign == '\/' && b == 0.0/if matches!(sign, '\/' | '%') \&\& b == 0.0/" src/eval.rs
cat >> tests/data/table.txt <<'T'
x % (1 - 1) = error: division by zero
0 % 5 = 0
0 / 0 = error: division by zero
T
cat >> src/eval.rs <<'R'

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_divides_by_zero() {
        for sign in ['/', '%'] {
            assert_eq!(binary(sign, 1.0, 0.0), Err(Error::Zero), "{sign}");
            assert_eq!(binary(sign, 1.0, -0.0), Err(Error::Zero), "{sign}");
            assert!(binary(sign, 1.0, 0.1).is_ok(), "{sign}");
        }
    }
}
R
