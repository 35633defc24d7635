// Package proc owns the starting and ending of operating system processes: short trusted tools, and agents whose
// whole tree must be gone when a run is over. It knows nothing of tasks, drivers or results.
package proc
