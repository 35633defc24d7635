// Package ratchet owns the comparison of a run with a saved baseline: what is new, what is gone, what stays.
package ratchet
