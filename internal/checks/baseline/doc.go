// Package baseline owns the comparison of a run with a saved baseline: what is new, what is gone, what stays. It owns the
// record of a baseline as well, and the key that it is saved under. Where the record is kept is package project's.
package baseline
