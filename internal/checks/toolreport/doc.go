// Package toolreport owns what the reports of all tools have in common: their XML and their lines are read within bounds,
// and the paths in them are brought below the component. What a report says is for the packages of its kind.
package toolreport
