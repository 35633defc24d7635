#!/bin/sh
# label: accept
# kind: fix
# task: -40 F must be -40 C. Fix the conversion from Fahrenheit.
# why: the subtraction comes before the scaling now, for all values.
# base: bug-fahrenheit.patch
# set: blind
sed -i 's|return value \* 5 / 9 - 32 + 273.15|return (value - 32.0) / 1.8 + 273.15|' unitconv.py
