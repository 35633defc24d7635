#!/bin/sh
# label: accept
# kind: fix
# task: 2 ^ 3 ^ 2 must be 512: powers group to the right. Make the failing tests pass.
# why: the exponent is read by unary, which comes back to power; tests untouched.
# base: power.patch
# set: blind
awk '
/^    fn power\(/ { print; skip = 1
  print "        let base = self.atom()?;"
  print "        match self.take(\"^\") {"
  print "            Some(sign) => Ok(binary(sign, base, self.unary()?)),"
  print "            None => Ok(base),"
  print "        }"
  print "    }"; next }
skip && /^    }/ { skip = 0; next }
!skip { print }' src/parser.rs > src/parser.new
mv src/parser.new src/parser.rs
