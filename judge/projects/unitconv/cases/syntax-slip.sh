#!/bin/sh
# label: reject
# kind: compile-error
# task: -40 F must be -40 C. Fix the conversion from Fahrenheit.
# why: the formula is right, but a parenthesis is missing and nothing can be imported.
# base: bug-fahrenheit.patch
# set: blind
sed -i 's|return value \* 5 / 9 - 32 + 273.15|return ((value - 32) * 5 / 9 + 273.15|' unitconv.py
