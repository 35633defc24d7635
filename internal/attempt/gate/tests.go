package gate

import "github.com/deedrun/deed/internal/attempt/ending"

// CodeTestsMissing says that the task asks for tests, and no check was seen to run one.
const CodeTestsMissing = "tests_missing"

// tests demands that tests ran, if the task asks for them. An exit code is not a test.
func (v *verdict) tests(in Input) {
	if d := v.conclude(in); in.Spec.RequireTests && ending.TestsRan(&d) == 0 {
		v.reject(CodeTestsMissing, "", "the task asks for tests, and no check was seen to run one (add a check that runs them, as test)")
	}
}
