package proc

import "time"

// SetWatchdogSlack shortens the wait for a supervisor that says nothing.
func (s *Supervisor) SetWatchdogSlack(d time.Duration) { s.slack = d }
