package proc

import "time"

// SetWatchdogSlack shortens the wait for a supervisor that says nothing.
func (s *Supervisor) SetWatchdogSlack(d time.Duration) { s.slack = d }

// GuardPID returns the process id of the guard, or 0 when there is none.
func (s *Supervisor) GuardPID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard == nil {
		return 0
	}
	return s.guard.pid
}
