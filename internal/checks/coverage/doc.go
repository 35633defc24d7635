// Package coverage owns coverage reports: it reads the formats that tools write into one shape and counts lines, all of
// them and the changed ones.
package coverage
