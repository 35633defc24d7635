#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: Expr::eval is easily mixed up with exprcalc::eval. Call it Expr::value.
# why: the method, its callers and the two calls of a test were renamed; the expected values are the same.
# set: blind
sed -i 's/pub fn eval(&self, env/pub fn value(\&self, env/; s/\.eval(env)/.value(env)/g' src/eval.rs
sed -i 's/parse(text)?\.eval(env)/parse(text)?.value(env)/' src/lib.rs
sed -i 's/expr\.eval(&env)/expr.value(\&env)/g' tests/api.rs
