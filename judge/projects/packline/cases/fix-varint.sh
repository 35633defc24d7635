#!/bin/sh
# label: accept
# kind: fix
# task: A number of exactly 128 is written wrongly, so that frames of 128 bytes cannot be read. Fix it.
# why: the limit of a group is right; no test was touched.
# base: varint.patch
# set: blind
sed -i 's/while n > 0x80 {/while n > 0x7f {/' packline/src/varint.rs
