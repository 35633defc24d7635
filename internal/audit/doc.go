// Package audit owns deed's own look at a tree: a set of detectors, their configuration and their findings. It runs
// nothing and changes nothing.
package audit
