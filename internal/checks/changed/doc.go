// Package changed owns the question which files of a component changed since a commit, which lines of them, which lint
// runs that asks for and which tests that selects. It asks git by way of package workspace, whose word it only narrows to
// the component: nothing is fetched, and nothing of the repository is run or written.
package changed
